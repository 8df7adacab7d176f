"""Noise models: nested families of transition matrices, fitted to expected counts.

The families are: one rate for all classes, one rate per clean class, and any matrix. Each fit returns the most likely
matrix (clean, noisy) for the expected number of rows by clean class and observed label. A pattern (clean, noisy) is the
distribution of the wrong labels of each clean class: its rows sum to 1 and its diagonal is 0. In every fitted matrix a
label is more likely in its own class than in any other class, because labels alone do not identify which class is
which.
"""

import numpy as np
from numpy.typing import NDArray

#: Smaller rates are replaced by this one in divisions.
MIN_RATE = 1e-9
#: Upper limit of a common rate as a share of (K - 1) / K, the rate at which labels carry no information.
MAX_RATE_SHARE = 0.95


def fit_common_rate(pattern: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix of `pattern` with the same rate for all classes."""
    return _with_identified_classes(transition_rows(np.full(len(counts), _common_rate(counts)), pattern), counts)


def fit_class_rates(pattern: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix of `pattern` with one rate per clean class."""
    rows = counts.sum(axis=1)
    rates = (rows - np.diag(counts)) / np.maximum(rows, np.finfo(float).tiny)
    return _with_identified_classes(transition_rows(rates, pattern), counts)


def fit_full_matrix(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix without restrictions on rates or pattern."""
    rows = counts.sum(axis=1, keepdims=True)
    shares = np.where(rows > 0, counts / np.where(rows > 0, rows, 1.0), np.eye(len(counts)))
    return _with_identified_classes(shares, counts)


def _common_rate(counts: NDArray[np.float64]) -> float:
    n_classes = len(counts)
    return float(min(1 - np.trace(counts) / counts.sum(), MAX_RATE_SHARE * (n_classes - 1) / n_classes))


def _with_identified_classes(matrix: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `matrix`, shrunk towards the matrix of one even rate until each label is more likely in its own class than
    in any other class, by at least the margin that the largest common rate leaves. Without this limit, labels that are
    more often wrong than right would swap the classes.
    """
    margins, least = _label_margins(matrix), 1.0 - MAX_RATE_SHARE
    short = margins < least
    if not short.any():
        return matrix
    simple = transition_rows(np.full(len(counts), _common_rate(counts)), even_pattern(len(counts)))
    slack = np.maximum(_label_margins(simple)[short] - least, 0.0)
    share = float((slack / (slack + least - margins[short])).min())
    return np.asarray(simple + share * (matrix - simple))


def _label_margins(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much more likely each label is in its own class than in another, (other class, label); the diagonal is
    infinite.
    """
    margins = np.diag(matrix) - matrix
    np.fill_diagonal(margins, np.inf)
    return margins


def transition_rows(rates: NDArray[np.float64], pattern: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix (clean, noisy) with noise `rates` (clean,) and wrong labels distributed by `pattern`."""
    rates = np.clip(rates, MIN_RATE, 1.0)
    return np.diag(1.0 - rates * pattern.sum(axis=1)) + rates[:, np.newaxis] * pattern


def class_noise_rates(transition: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of wrong labels of each class, (clean,)."""
    return 1.0 - np.diag(transition)


def rate_derivative(transition: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the derivative of each cell (clean, noisy) in the noise rate of its clean class."""
    derivative = noise_pattern(transition)
    np.fill_diagonal(derivative, -1.0)
    return derivative


def even_pattern(n_classes: int) -> NDArray[np.float64]:
    """Return the pattern (clean, noisy) in which all other classes are equally likely."""
    return (1.0 - np.eye(n_classes)) / max(n_classes - 1, 1)


def frequency_pattern(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the pattern (clean, noisy) in which another class is as likely as its labels are frequent. `counts`
    (class,) are the numbers of labels, of at least two classes; a single class with labels gets the even pattern.
    """
    wrong = np.where(np.eye(len(counts), dtype=bool), 0.0, counts)
    n_others = wrong.sum(axis=1, keepdims=True)
    return np.where(n_others > 0, wrong / np.maximum(n_others, 1.0), even_pattern(len(counts)))


def noise_pattern(transition: NDArray[np.float64], otherwise: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return the pattern of a matrix.

    otherwise: the pattern of classes without wrong labels (clean, noisy), by default the even one.
    """
    wrong = transition * ~np.eye(len(transition), dtype=bool)
    rates = wrong.sum(axis=1, keepdims=True)
    default = even_pattern(len(transition)) if otherwise is None else otherwise
    return np.where(rates > MIN_RATE, wrong / np.maximum(rates, MIN_RATE), default)
