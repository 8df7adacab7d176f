"""Pieces of the arrays of an artifact, one per tree, and the offsets that divide an array among the trees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.exceptions import ArtifactError

#: Consecutive pieces of one array of the file, so that writing it needs no second copy of the trees.
Pieces = list[NDArray[Any]]


def offsets(lengths: list[int]) -> NDArray[np.int64]:
    """Return the offsets of pieces of these lengths, (piece + 1,)."""
    return np.cumsum([0, *lengths], dtype=np.int64)


def check_offsets(name: str, offsets: NDArray[Any], n_entries: int, follows: np.ufunc) -> None:
    """Raise ArtifactError unless the offsets divide all entries among the trees.

    follows: np.greater if every tree must have an entry, np.greater_equal otherwise.
    """
    if offsets.ndim != 1 or offsets.dtype != np.int64 or len(offsets) < 2:
        raise ArtifactError(f"array {name!r} has the wrong shape or type.")
    if offsets[0] != 0 or offsets[-1] != n_entries or not follows(offsets[1:], offsets[:-1]).all():
        raise ArtifactError(f"the offsets in array {name!r} do not cover the entries of the trees.")
