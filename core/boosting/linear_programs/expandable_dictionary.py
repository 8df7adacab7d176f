"""Simplex dictionaries whose capacity grows with the linear program."""

import numpy as np
from numpy.typing import NDArray

from core.kernels.simplex.dictionary import Dictionary

_GOLDEN_RATIO = (5**0.5 - 1) / 2


def empty_dictionary(n_rows: int, n_columns: int) -> Dictionary:
    """Return a dictionary with capacity for `n_rows` rows and `n_columns` columns."""
    return Dictionary(
        entries=np.zeros((n_columns, n_rows)),
        basic=np.zeros(n_rows, dtype=np.int64),
        value=np.zeros(n_rows),
        side=np.zeros(n_rows),
        row_limit=np.zeros(n_rows),
        norm=np.zeros(n_rows),
        nonbasic=np.zeros(n_columns, dtype=np.int64),
        at=np.zeros(n_columns),
        gradient=np.zeros(n_columns),
        column_limit=np.zeros(n_columns),
    )


def with_capacity(dictionary: Dictionary, n_rows: int, n_columns: int) -> Dictionary:
    """Return the dictionary, or a copy of it, with capacity for at least `n_rows` rows and `n_columns` columns."""
    capacity = dictionary.entries.shape
    if n_columns <= capacity[0] and n_rows <= capacity[1]:
        return dictionary
    larger = empty_dictionary(
        capacity[1] if n_rows <= capacity[1] else max(2 * capacity[1], n_rows),
        capacity[0] if n_columns <= capacity[0] else max(2 * capacity[0], n_columns),
    )
    for old, new in zip(dictionary, larger, strict=True):
        new[tuple(slice(length) for length in old.shape)] = old
    return larger


def perturbations(numbers: NDArray[np.int64] | int) -> NDArray[np.float64]:
    """Return deterministic values in [0, 1) that are far from each other, to break ties."""
    return np.asarray(numbers * _GOLDEN_RATIO % 1.0)
