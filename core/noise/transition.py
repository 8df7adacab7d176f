"""Transition matrices of label noise, and the one place that fixes their orientation: transition[clean, noisy]."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.exceptions import InvalidNoise

#: How far a row may be from summing to 1: the rounding of numbers written with few digits.
_ROW_SUM_TOLERANCE = 1e-6


class TransitionMatrix:
    """Row-stochastic: rows[a, b] = P(label is observed as class b | its clean class is a). Immutable."""

    def __init__(self, rows: NDArray[np.float64], classes: NDArray[Any]) -> None:
        self._rows = rows
        self._classes = classes

    @classmethod
    def from_rows(cls, rows: ArrayLike, classes: ArrayLike | None = None) -> "TransitionMatrix":
        """Check a K x K array whose rows sum to 1; `classes` (K,) defaults to 0..K-1. Raises InvalidNoise."""
        matrix = _square(rows)
        n_classes = len(matrix)
        names = np.arange(n_classes) if classes is None else np.array(classes)
        if names.shape != (n_classes,):
            raise InvalidNoise(
                f"the transition matrix has {n_classes} rows for {names.size} classes; give one row per class."
            )
        if not np.isfinite(matrix).all() or (matrix < 0).any() or (matrix > 1).any():
            raise InvalidNoise("the transition matrix holds numbers outside 0..1; its rows are probabilities.")
        sums = matrix.sum(axis=1)
        worst = int(np.argmax(np.abs(sums - 1)))
        if abs(sums[worst] - 1) > _ROW_SUM_TOLERANCE:
            raise InvalidNoise(
                f"row {worst} of the transition matrix sums to {sums[worst]:g}; each row must sum to 1 "
                "(rows are clean classes, columns observed ones: transpose a matrix written the other way)."
            )
        matrix /= sums[:, np.newaxis]
        matrix.setflags(write=False)
        names.setflags(write=False)
        return cls(matrix, names)

    @classmethod
    def uniform(cls, rate: float, classes: ArrayLike) -> "TransitionMatrix":
        """Each label is replaced with probability `rate` in [0, (K-1)/K), by any other class with equal chance."""
        names = np.array(classes)
        n_classes = len(names)
        limit = (n_classes - 1) / n_classes
        if not 0 <= rate <= max(limit, 0.0) or (rate > 0 and rate >= limit):
            raise InvalidNoise(
                f"rate is {rate!r}; with {n_classes} classes it must be at least 0 and below {limit:g}, "
                "beyond which labels say nothing about their clean class."
            )
        rows = np.full((n_classes, n_classes), rate / max(n_classes - 1, 1))
        np.fill_diagonal(rows, 1.0 - rate)
        return cls.from_rows(rows, names)

    @property
    def rows(self) -> NDArray[np.float64]:
        """(clean class, observed class), read-only, rows sum to 1."""
        return self._rows

    @property
    def classes(self) -> NDArray[Any]:
        """(class,): the labels behind rows and columns, read-only."""
        return self._classes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TransitionMatrix):
            return NotImplemented
        return np.array_equal(self.rows, other.rows) and np.array_equal(self.classes, other.classes)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TransitionMatrix.from_rows({self.rows.tolist()}, classes={self.classes.tolist()})"


def _square(rows: ArrayLike) -> NDArray[np.float64]:
    try:
        matrix = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidNoise(
            "the transition matrix is not a table of numbers; give one list of numbers per class."
        ) from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise InvalidNoise(f"the transition matrix has shape {matrix.shape}; it must be square, one row per class.")
    return matrix
