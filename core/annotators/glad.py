"""The model GLAD: abilities of annotators and difficulties of items."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from core.annotators.answer_models import AnswerModel, Posterior, symmetric_log_likelihood
from core.annotators.answers import Answers

#: Steps of the optimizer between two updates of the true classes, which change the objective.
_STEPS = 50
#: Relative change of the loss at which the optimizer ends. With SciPy's default, it ends before its first step where
#: true classes have yet to change, so that they stop changing.
_LOSS_TOLERANCE = 1e-13
#: Mean of the normal priors of abilities and of the logarithms of easiness, with variance 1 (the paper, section 3.1).
_PRIOR_MEAN = 1.0
#: No answer is quite certain to be right.
_CERTAIN = 1 - 1e-9


class Glad(AnswerModel):
    """An answer is right with probability 1 / (1 + exp(-ability * easiness)); wrong answers are equally likely for all
    other classes (Whitehill et al. 2009, "Whose vote should count more", equation 1). Easiness is positive, and an
    ability below 0 is that of an annotator who is mostly wrong.
    """

    def __init__(self, answers: Answers) -> None:
        super().__init__(answers)
        #: Abilities (annotator,), then logarithms of easiness (item,).
        self._parameters = np.full(len(answers.annotators) + len(answers.items), _PRIOR_MEAN)

    def fit(self, posterior: Posterior) -> None:
        right = posterior[self.answers.item_of, self.answers.class_of]
        options = {"maxiter": _STEPS, "ftol": _LOSS_TOLERANCE}
        found = minimize(self._loss, self._parameters, (right,), method="L-BFGS-B", jac=True, options=options)
        self._parameters = found.x

    def log_likelihood(self) -> NDArray[np.float64]:
        return symmetric_log_likelihood(self.answers, self.right(0))

    def right(self, true_class: int) -> NDArray[np.float64]:
        ability, easiness = self._by_answer(self._parameters)
        return np.asarray(np.clip(expit(ability * easiness), 1 - _CERTAIN, _CERTAIN))

    def _by_answer(self, parameters: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        answers, n_annotators = self.answers, len(self.answers.annotators)
        easiness = np.exp(parameters[n_annotators:])
        return parameters[:n_annotators][answers.annotator_of], easiness[answers.item_of]

    def _loss(self, parameters: NDArray[np.float64], right: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the negative expected log-likelihood with priors, and its gradient.

        right: (answer,) probability that the answer is right under the current true classes.
        """
        ability, easiness = self._by_answer(parameters)
        logit = ability * easiness
        from_prior = parameters - _PRIOR_MEAN
        value = -(right * log_expit(logit) + (1 - right) * log_expit(-logit)).sum() + (from_prior**2).sum() / 2
        slope = expit(logit) - right
        by_annotator = self.answers.sum_by_annotator(slope * easiness)
        by_item = self.answers.sum_by_item(slope * logit)
        return float(value), np.concatenate([by_annotator, by_item]) + from_prior
