"""Shapes of transition matrices, nested: one rate for all, a rate for each clean class, any matrix.

A shape makes the most likely matrix of expected rows by clean class and given label, (clean, noisy). A pattern says
where the wrong labels of each clean class go: rows sum to 1, the diagonal is 0. In every shape a label is likelier in
its own class than in any other, since labels alone do not say which class is which.
"""

import numpy as np
from numpy.typing import NDArray

#: Rates below count as this one where they divide.
LEAST_RATE = 1e-9
#: A common rate stays below this share of (K - 1) / K, where labels would say nothing.
_LARGEST_SHARE = 0.95


def one_rate(pattern: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return _keeping_names(matrix_of(np.full(len(counts), _common_rate(counts)), pattern), counts)


def rate_of_each_class(pattern: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    rows = counts.sum(axis=1)
    rates = (rows - np.diag(counts)) / np.maximum(rows, np.finfo(float).tiny)
    return _keeping_names(matrix_of(rates, pattern), counts)


def any_matrix(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    rows = counts.sum(axis=1, keepdims=True)
    return _keeping_names(np.where(rows > 0, counts / np.where(rows > 0, rows, 1.0), np.eye(len(counts))), counts)


def _common_rate(counts: NDArray[np.float64]) -> float:
    n_classes = len(counts)
    return float(min(1 - np.trace(counts) / counts.sum(), _LARGEST_SHARE * (n_classes - 1) / n_classes))


def _keeping_names(matrix: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """`matrix`, drawn towards that of one even rate until each label is likelier in its own class than in any other, by
    what the largest common rate leaves it: labels that are more often wrong than right would swap the classes.
    """
    margins, least = _margins_of_labels(matrix), 1.0 - _LARGEST_SHARE
    short = margins < least
    if not short.any():
        return matrix
    simple = matrix_of(np.full(len(counts), _common_rate(counts)), even_pattern(len(counts)))
    room = np.maximum(_margins_of_labels(simple)[short] - least, 0.0)
    share = float((room / (room + least - margins[short])).min())
    return np.asarray(simple + share * (matrix - simple))


def _margins_of_labels(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much likelier each label is in its own class than in another, (other class, label); infinite in its own."""
    margins = np.diag(matrix) - matrix
    np.fill_diagonal(margins, np.inf)
    return margins


def matrix_of(rates: NDArray[np.float64], pattern: NDArray[np.float64]) -> NDArray[np.float64]:
    """(clean, noisy) of labels that are wrong `rates` (clean,) of the time, and then as `pattern` says."""
    rates = np.clip(rates, LEAST_RATE, 1.0)
    return np.diag(1.0 - rates * pattern.sum(axis=1)) + rates[:, np.newaxis] * pattern


def rates_of(transition: NDArray[np.float64]) -> NDArray[np.float64]:
    """(clean,)."""
    return 1.0 - np.diag(transition)


def even_pattern(n_classes: int) -> NDArray[np.float64]:
    """All other classes alike, (clean, noisy)."""
    return (1.0 - np.eye(n_classes)) / max(n_classes - 1, 1)


def pattern_of(transition: NDArray[np.float64]) -> NDArray[np.float64]:
    """The even one where a class has no wrong labels."""
    wrong = transition * ~np.eye(len(transition), dtype=bool)
    rates = wrong.sum(axis=1, keepdims=True)
    return np.where(rates > LEAST_RATE, wrong / np.maximum(rates, LEAST_RATE), even_pattern(len(transition)))
