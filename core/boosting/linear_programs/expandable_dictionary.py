"""Dictionaries of the simplex method that get room for more rows and columns as a program grows."""

import numpy as np
from numpy.typing import NDArray

from core.kernels.simplex.dictionary import Dictionary

_GOLDEN = (5**0.5 - 1) / 2


def empty_dictionary(n_rows: int, n_columns: int) -> Dictionary:
    """Room for so many rows and columns."""
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


def with_room(held: Dictionary, n_rows: int, n_columns: int) -> Dictionary:
    """The dictionary itself, or a copy of it with room for at least so many rows and columns."""
    room = held.entries.shape
    if n_columns <= room[0] and n_rows <= room[1]:
        return held
    larger = empty_dictionary(
        room[1] if n_rows <= room[1] else max(2 * room[1], n_rows),
        room[0] if n_columns <= room[0] else max(2 * room[0], n_columns),
    )
    for old, new in zip(held, larger, strict=True):
        new[tuple(slice(length) for length in old.shape)] = old
    return larger


def scattered(numbers: NDArray[np.int64] | int) -> NDArray[np.float64]:
    """Numbers spread over [0, 1), far from each other: what tells equals apart, the same in every run."""
    return np.asarray(numbers * _GOLDEN % 1.0)
