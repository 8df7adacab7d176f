"""Methods of consensus by name. This module and those that it imports need SciPy, whose import is slow."""

import numpy as np
from numpy.typing import NDArray

from core.annotators.annotator_quality import AnnotatorQuality, annotator_quality
from core.annotators.answer_models import AnswerModel, DawidSkene, OneCoin
from core.annotators.answers import Answers
from core.annotators.class_priors import CalibratedPredictions, ClassPrior, ClassShares
from core.annotators.expectation_maximization import FittedAnswers, fit_answers, vote_shares
from core.annotators.glad import Glad
from core.class_votes import winning_classes

_MODELS: dict[str, type[AnswerModel]] = {
    "one_coin": OneCoin,
    "dawid_skene": DawidSkene,
    "glad": Glad,
    "with_features": DawidSkene,
}


def apply_method(
    answers: Answers, method: str, predictions: NDArray[np.float64] | None
) -> tuple[FittedAnswers, AnnotatorQuality]:
    """Return the true classes by one of `CONSENSUS_METHODS`, and the quality of the annotators that follows from them.

    predictions: (item, class) for "with_features", else None.
    """
    fitted = _majority(answers) if method == "majority" else _fitted(answers, method, predictions)
    return fitted, annotator_quality(answers, fitted.posterior, fitted.dispersion)


def _majority(answers: Answers) -> FittedAnswers:
    shares = vote_shares(answers)
    # Annotators are compared with the majority, not with shares that contain their own answers.
    winners = np.eye(answers.n_classes)[winning_classes(shares)]
    return FittedAnswers(winners, np.empty(0), True, 1.0, shares)


def _fitted(answers: Answers, method: str, predictions: NDArray[np.float64] | None) -> FittedAnswers:
    prior: ClassPrior = ClassShares() if predictions is None else CalibratedPredictions(predictions)
    return fit_answers(_MODELS[method](answers), prior)
