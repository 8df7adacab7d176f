"""Transition matrices of label noise. This module defines their orientation: transition[clean, noisy]."""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.exceptions import InvalidNoise
from core.validation.labels import class_codes, encode_labels

#: How far a row may be from summing to 1, to allow for numbers written with few digits.
_ROW_SUM_TOLERANCE = 1e-6


class TransitionMatrix:
    """Row-stochastic: rows[a, b] = P(label is observed as class b | its clean class is a). Immutable."""

    def __init__(self, rows: NDArray[np.float64], classes: NDArray[Any]) -> None:
        self._rows = rows
        self._classes = classes
        self._rows.setflags(write=False)
        self._classes.setflags(write=False)

    @classmethod
    def from_rows(cls, rows: ArrayLike, classes: ArrayLike | None = None) -> "TransitionMatrix":
        """Return the matrix of a K x K array whose rows sum to 1. `classes` (K,) defaults to 0..K-1.

        Raises InvalidNoise.
        """
        matrix = _square(rows)
        n_classes = len(matrix)
        names = np.arange(n_classes) if classes is None else np.array(classes)
        _check_classes(names, n_classes)
        if not np.isfinite(matrix).all() or (matrix < 0).any() or (matrix > 1).any():
            raise InvalidNoise(
                "the transition matrix contains numbers outside [0, 1]; its rows must be probabilities.", "transition"
            )
        sums = matrix.sum(axis=1)
        worst = int(np.argmax(np.abs(sums - 1)))
        if abs(sums[worst] - 1) > _ROW_SUM_TOLERANCE:
            raise InvalidNoise(
                f"row {worst} of the transition matrix sums to {sums[worst]:g}; each row must sum to 1 "
                "(rows are clean classes, columns observed classes; transpose a matrix with the other orientation).",
                "transition",
            )
        matrix /= sums[:, np.newaxis]
        return cls(matrix, names)

    @classmethod
    def uniform(cls, rate: float, classes: ArrayLike) -> "TransitionMatrix":
        """Return the matrix in which a label is replaced with probability `rate` in [0, (K-1)/K) by any other class,
        all equally likely. Raises InvalidNoise.
        """
        names = np.array(classes)
        n_classes = len(names)
        check_rate(rate, n_classes, "rate")
        rows = np.full((n_classes, n_classes), rate / max(n_classes - 1, 1))
        np.fill_diagonal(rows, 1.0 - rate)
        return cls.from_rows(rows, names)

    @classmethod
    def observed(cls, clean: NDArray[Any], noisy: NDArray[Any], classes: NDArray[Any]) -> "TransitionMatrix":
        """Return the observed matrix: the shares of the class numbers `noisy` (row,) among the rows of each class
        number in `clean` (row,). A class without rows keeps its label.
        """
        counts = np.zeros((len(classes), len(classes)))
        np.add.at(counts, (clean, noisy), 1.0)
        absent = np.flatnonzero(counts.sum(axis=1) == 0)
        counts[absent, absent] = 1.0
        return cls.from_rows(counts / counts.sum(axis=1, keepdims=True), classes)

    def among(self, classes: NDArray[Any]) -> "TransitionMatrix":
        """Return this matrix for labels of the sorted `classes` (class,). A matrix with named classes is reordered; a
        matrix of the classes 0..K-1 is taken to be in sorted order already. Raises InvalidNoise.
        """
        own = self._classes.tolist()
        if len(own) != len(classes):
            raise InvalidNoise(
                f"the transition matrix is {len(own)} x {len(own)} and the labels have {len(classes)} classes; pass "
                "one row and one column per class, in the order of the sorted classes. Noise injection and a holdout "
                "can remove all rows of a small class; in that case, add rows of that class.",
                "transition",
            )
        places = {label: place for place, label in enumerate(own)}
        if set(classes.tolist()) == set(own):
            order = [places[label] for label in classes.tolist()]
        elif own == list(range(len(own))):
            order = own
        else:
            raise InvalidNoise(
                f"the transition matrix has the classes {own} and the labels have {classes.tolist()}; pass a matrix of "
                "the same classes.",
                "transition",
            )
        return TransitionMatrix(self._rows[np.ix_(order, order)], np.array(classes))

    def extended(self, classes: NDArray[Any]) -> "TransitionMatrix":
        """Return this matrix among `classes` (class,), which contain its own; the others keep their labels."""
        own, _ = class_codes(classes, self._classes)
        rows = np.eye(len(classes))
        rows[np.ix_(own, own)] = self._rows
        return TransitionMatrix(rows, np.array(classes))

    def noise_rate(self, class_counts: ArrayLike) -> float:
        """Return the expected share of wrong labels among `class_counts` (class,) clean rows."""
        counts = np.asarray(class_counts, dtype=np.float64)
        return float(counts @ (1.0 - np.diagonal(self._rows)) / counts.sum())

    def to_json(self) -> list[list[float]]:
        """Return the rows as lists, in the order of the sorted classes."""
        rows: list[list[float]] = self.among(encode_labels(self._classes).classes).rows.tolist()
        return rows

    @property
    def rows(self) -> NDArray[np.float64]:
        """The matrix as an array (clean class, observed class), read-only. Rows sum to 1."""
        return self._rows

    @property
    def classes(self) -> NDArray[Any]:
        """Classes of the rows and columns, (class,), read-only."""
        return self._classes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TransitionMatrix):
            return NotImplemented
        return np.array_equal(self.rows, other.rows) and np.array_equal(self.classes, other.classes)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TransitionMatrix.from_rows({self.rows.tolist()}, classes={self.classes.tolist()})"


def _check_classes(names: NDArray[Any], n_rows: int) -> None:
    if names.shape != (n_rows,):
        raise InvalidNoise(f"the transition matrix has {n_rows} rows for {names.size} classes; pass one row per class.")
    repeated = [name for name, count in Counter(names.tolist()).items() if count > 1]
    if repeated:
        raise InvalidNoise(f"classes contains {repeated[0]!r:.100} more than once; list every class once.")


def check_rate(rate: float, n_classes: int, parameter: str) -> None:
    """Raise InvalidNoise if labels of `n_classes` classes carry no information at this noise rate."""
    if n_classes == 0:
        raise InvalidNoise("classes is empty; list every class once.")
    limit = (n_classes - 1) / n_classes
    if not 0 <= rate <= limit or (rate > 0 and rate >= limit):
        raise InvalidNoise(
            f"{parameter} is {rate!r}; with {n_classes} classes it must be at least 0 and below {limit:g}, because at "
            "that rate labels carry no information about the clean class. Use a lower rate.",
            parameter,
        )


def to_transition_matrix(transition: Any) -> TransitionMatrix:
    """Return a TransitionMatrix from one, or from rows in the order of the sorted classes. Raises InvalidNoise."""
    return transition if isinstance(transition, TransitionMatrix) else TransitionMatrix.from_rows(transition)


def _square(rows: ArrayLike) -> NDArray[np.float64]:
    try:
        matrix = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        uneven = _uneven(rows)
        raise InvalidNoise(
            f"the transition matrix is {uneven or 'not a table of numbers'}; pass one list of numbers per class.",
            "transition",
        ) from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise InvalidNoise(
            f"the transition matrix has shape {matrix.shape}; it must be square, with one row per class.", "transition"
        )
    return matrix


def _uneven(rows: Any) -> str | None:
    """Return a description of the first row that keeps a table of lists from being square, or None."""
    if not isinstance(rows, list | tuple) or not all(isinstance(row, list | tuple) for row in rows):
        return None
    short = next((number for number, row in enumerate(rows) if len(row) != len(rows)), None)
    return None if short is None else f"not square: row {short} of {len(rows)} has length {len(rows[short])}"
