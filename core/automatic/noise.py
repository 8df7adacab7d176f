"""Noise of the labels by the votes of a search, and the probabilities of the true classes that follow from it."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.automatic.search import SearchResult
from core.class_votes import rows_with_votes
from core.forests.fitting import Fit
from core.noise.estimation import FittedNoise, fit_noise
from core.noise.label_probabilities import LabelProbabilities

#: Why there is no estimate. Class weights bias the votes that noise is estimated from.
NotEstimated = Literal["class_weight", "few_rows", "many_classes", "one_class"]

#: With more classes, an estimate would take longer than the search.
_MOST_CLASSES = 50
#: Fewest rows with votes of a class that the estimate includes; with fewer, a class can hide the noise of others.
#: Two classes of so many rows are enough for an estimate.
_MIN_ROWS_OF_CLASS = 10


class SearchedNoise(NamedTuple):
    """Noise among the classes that have enough rows for an estimate."""

    fitted: FittedNoise
    classes: NDArray[np.int64]  # (estimated class,), numbers of these classes, ascending


def noise_of_search(fit: Fit, result: SearchResult, has_class_weights: bool) -> SearchedNoise | NotEstimated:
    """Return the noise of the labels by the mean votes of the best candidates, or why it is not estimated.

    Raises FitStopped.
    """
    votes, codes = result.mean_votes, fit.data.labels.codes.astype(np.int64)
    has_votes = rows_with_votes(votes)
    classes = np.flatnonzero(np.bincount(codes[has_votes], minlength=votes.shape[1]) >= _MIN_ROWS_OF_CLASS)
    if reason := _obstacle(len(fit.data.labels.classes), len(classes), has_class_weights):
        return reason
    rows = _votes_among(votes, codes, classes)._replace(classes=fit.data.labels.classes[classes])
    return SearchedNoise(fit_noise(rows, fit.monitor.stop_flag, groups=fit.data.groups), classes)


def _obstacle(n_classes: int, n_estimated: int, has_class_weights: bool) -> NotEstimated | None:
    if n_classes == 1:
        return "one_class"
    if has_class_weights:
        return "class_weight"
    if n_estimated > _MOST_CLASSES:
        return "many_classes"
    return "few_rows" if n_estimated <= 1 else None


def _votes_among(
    votes: NDArray[np.float64], codes: NDArray[np.int64], classes: NDArray[np.int64]
) -> LabelProbabilities:
    """Return labels and votes among `classes` (estimated class,); rows of other labels have no votes."""
    among = votes[:, classes]
    sums = among.sum(axis=1, keepdims=True)
    has_votes = np.isin(codes, classes) & (np.nan_to_num(sums[:, 0]) > 0)
    among = np.divide(among, sums, out=np.full_like(among, np.nan), where=has_votes[:, np.newaxis])
    return LabelProbabilities(among, np.searchsorted(classes, codes), classes, has_votes)


def true_class_probabilities(
    noise: SearchedNoise, votes: NDArray[np.float64], codes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the probabilities of the true class of each row (row, class) given its label and the votes on it.

    A row without votes (NaN) has the probabilities that its label alone gives; a row whose class has no
    estimate keeps its label.
    """
    rows = _votes_among(votes, codes, noise.classes)
    model = noise.fitted.model
    by_label = model.posterior_of_labels(noise.fitted.estimate.priors)
    has_estimate = np.isin(codes, noise.classes)
    among = np.zeros_like(rows.probabilities)
    among[has_estimate] = by_label[rows.codes[has_estimate]]
    among[rows.has_votes] = model.posterior(rows.probabilities[rows.has_votes], rows.codes[rows.has_votes])
    probabilities = np.zeros_like(votes)
    probabilities[:, noise.classes] = among
    probabilities[np.flatnonzero(~has_estimate), codes[~has_estimate]] = 1.0
    return probabilities
