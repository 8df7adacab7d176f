"""Consensus of annotators: the probable true class of each item, and how often each annotator is right."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.annotators.annotator_quality import AnnotatorQuality, annotator_quality
from core.annotators.answer_models import AnswerModel, DawidSkene, OneCoin
from core.annotators.answers import UNKNOWN, Answers, check_answers
from core.annotators.class_priors import CalibratedPredictions, ClassPrior, ClassShares
from core.annotators.expectation_maximization import FittedAnswers, fit_answers, vote_shares
from core.annotators.glad import Glad
from core.class_votes import rows_with_votes, winning_classes
from core.exceptions import InvalidInput, InvalidParameter
from core.validation.probabilities import normalized_rows, probability_table

_MODELS: dict[str, type[AnswerModel]] = {
    "one_coin": OneCoin,
    "dawid_skene": DawidSkene,
    "glad": Glad,
    "with_features": DawidSkene,
}
#: Names that `method` of `consensus` may have.
CONSENSUS_METHODS = ("majority", *_MODELS)
#: Cells of all confusion matrices together, which take 8 bytes each in several tables.
_MAX_CELLS = 50_000_000


class Consensus(NamedTuple):
    """What annotators say together. Arrays over items, annotators and classes have the order of these three fields."""

    items: NDArray[Any]  # (item,), sorted
    annotators: NDArray[Any]  # (annotator,), sorted
    classes: NDArray[Any]  # (class,), sorted
    labels: NDArray[Any]  # (item,), the most probable class; ties go to the first class
    probabilities: NDArray[np.float64]  # (item, class)
    n_answers: NDArray[np.int64]  # (item,)
    #: (annotator,), number of answers of each annotator
    n_answers_given: NDArray[np.int64]
    #: (annotator, true class, answered class), rows sum to 1
    confusion: NDArray[np.float64]
    confusion_error: NDArray[np.float64]  # standard errors of the confusion matrices
    reliability: NDArray[np.float64]  # (annotator,), probability that an answer is right
    reliability_error: NDArray[np.float64]  # standard errors of the reliabilities
    #: How many times larger than for independent answers the variance of the number of right answers to an item is.
    dispersion: float
    log_likelihood: NDArray[np.float64]  # (iteration,), of all answers; empty for `majority`
    converged: bool
    method: str


def consensus(
    answers: Any,
    n_classes: int | None = None,
    method: str = "dawid_skene",
    probabilities: ArrayLike | None = None,
    gold: Mapping[Any, Any] | None = None,
) -> Consensus:
    """Return the probable true class of each item that several annotators labeled, and how often they are right.

    answers: three arrays (answer,): the item, the annotator and the label of each answer, of any sortable values. An
        annotator answers an item once; not every annotator answers every item.
    n_classes: number of classes, if some may lack answers; labels are then integers from 0 to n_classes - 1.
    method: "majority" (shares of the answers), "one_coin" (each annotator is right with one probability), "dawid_skene"
        (each annotator has a confusion matrix; Dawid & Skene 1979), "glad" (abilities of annotators and difficulties of
        items; Whitehill et al. 2009), or "with_features" ("dawid_skene" together with `probabilities`).
    probabilities: (item, class) predicted from the features of the items, in the order of the sorted items and classes,
        for "with_features" only. They have to be out of sample, such as the out-of-bag probabilities of a forest that
        was fitted on the labels of a majority; NaN in rows without a prediction. They are calibrated.
    gold: true labels of some items, {item: label}.

    The models take answers to an item to be independent, which makes them overconfident where annotators err on the
    same items. The probabilities and the standard errors allow for it by the dispersion. No result depends on the order
    of the answers.

    Raises:
        InvalidInput: the answers, the probabilities or gold cannot be used.
        InvalidParameter: the method is unknown, or does not fit the other arguments.
    """
    _check_method(method, probabilities)
    checked = check_answers(answers, n_classes, gold)
    _check_size(checked)
    if method != "majority":
        _check_comparable(checked)
    predictions = None if probabilities is None else _checked_predictions(probabilities, checked)
    fitted = _fitted(checked, method, predictions)
    return _assembled(checked, fitted, annotator_quality(checked, fitted.posterior, fitted.dispersion), method)


def _fitted(answers: Answers, method: str, predictions: NDArray[np.float64] | None) -> FittedAnswers:
    if method == "majority":
        shares = vote_shares(answers)
        return FittedAnswers(shares, np.empty(0), True, 1.0, shares)
    prior: ClassPrior = ClassShares() if predictions is None else CalibratedPredictions(predictions)
    return fit_answers(_MODELS[method](answers), prior)


def _assembled(answers: Answers, fitted: FittedAnswers, quality: AnnotatorQuality, method: str) -> Consensus:
    return Consensus(
        items=answers.items,
        annotators=answers.annotators,
        classes=answers.classes,
        labels=answers.classes[winning_classes(fitted.probabilities)],
        probabilities=fitted.probabilities,
        n_answers=answers.sum_by_item().astype(np.int64),
        n_answers_given=answers.sum_by_annotator().astype(np.int64),
        **quality._asdict(),
        dispersion=fitted.dispersion,
        log_likelihood=fitted.log_likelihood,
        converged=fitted.converged,
        method=method,
    )


def _check_method(method: str, probabilities: ArrayLike | None) -> None:
    if method not in CONSENSUS_METHODS:
        near = get_close_matches(str(method), CONSENSUS_METHODS, 1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise InvalidParameter(f"method is {method!r}; it must be one of {', '.join(CONSENSUS_METHODS)}{hint}")
    if (method == "with_features") != (probabilities is not None):
        given = "no probabilities" if probabilities is None else "probabilities"
        raise InvalidParameter(
            f"method is {method!r} with {given}; pass probabilities predicted from the features of the items for "
            "'with_features', and for no other method."
        )


def _check_size(answers: Answers) -> None:
    n_annotators, n_classes = len(answers.annotators), answers.n_classes
    if n_annotators * n_classes**2 > _MAX_CELLS:
        raise InvalidInput(
            f"answers has {n_annotators:,} annotators and {n_classes:,} classes, whose confusion matrices would have "
            f"{n_annotators * n_classes**2:,} cells; at most {_MAX_CELLS:,} are supported. Merge classes "
            "that need not be told apart."
        )


def _check_comparable(answers: Answers) -> None:
    """Raise InvalidInput if no answer can be compared with another one, or with a label that is known."""
    if answers.sum_by_item().max() < 2 and (answers.known == UNKNOWN).all():
        raise InvalidInput(
            "no item of answers has more than one answer, so that nothing tells how often annotators are right; ask "
            "for more answers, pass gold=, or audit the labels together with the features of the items "
            "(audit_labels)."
        )


def _checked_predictions(probabilities: ArrayLike, answers: Answers) -> NDArray[np.float64]:
    table = probability_table(probabilities)
    shape = (len(answers.items), answers.n_classes)
    if table.shape != shape:
        raise InvalidInput(
            f"probabilities has shape {table.shape}; it must be {shape}, one row for each item and one column for each "
            "class, both sorted."
        )
    return normalized_rows(table, rows_with_votes(table))
