"""Partition of the rows of a node in place: left rows first, in the same order on both sides.

rows:  [ ... | start        node        stop | ... ]
after: [ ... | start  left  cut  right  stop | ... ]
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inlined_kernel, inner_kernel
from core.kernels.search.packed_sums import PackedRows


class TreeRows(NamedTuple):
    """Rows of a whole tree, moved together so that each node owns one contiguous range; all arrays (n_rows,)."""

    rows: NDArray[np.uint32]
    labels: NDArray[np.uint16]
    weights: NDArray[np.float64]


class SpareRows(NamedTuple):
    """Buffer for the rows of one side; all arrays (n_rows,)."""

    rows: NDArray[np.uint32]
    labels: NDArray[np.uint16]
    weights: NDArray[np.float64]
    words: NDArray[np.uint64]


def new_spare_rows(n_rows: int) -> SpareRows:
    """Return a buffer for `n_rows` rows."""
    return SpareRows(
        np.empty(n_rows, dtype=np.uint32),
        np.empty(n_rows, dtype=np.uint16),
        np.empty(n_rows, dtype=np.float64),
        np.empty(n_rows, dtype=np.uint64),
    )


@inner_kernel
def _move_packed(
    rows: NDArray[np.uint32], words: NDArray[np.uint64], goes_left: NDArray[np.uint8], spare: SpareRows
) -> None:
    """Move left rows to the front and right rows behind them.

    Each row is written to both destinations, one of which is then overwritten. This avoids a branch that the processor
    could not predict. Unsigned indices avoid numba's check for negative ones.
    """
    n_left = n_right = np.uint64(0)
    # invariant: rows[:n_left] go left, spare.rows[:n_right] go right, both in their old order; n_left + n_right = i
    for i in range(rows.shape[0]):
        row, word, is_left = rows[i], words[i], np.uint64(goes_left[i])
        rows[n_left], words[n_left] = row, word
        spare.rows[n_right], spare.words[n_right] = row, word
        n_left += is_left
        n_right += np.uint64(1) - is_left
    _copy_back(rows[np.int64(n_left) :], spare.rows)
    _copy_back(words[np.int64(n_left) :], spare.words)


@inner_kernel
def _move_plain(
    rows: NDArray[np.uint32],
    labels: NDArray[np.uint16],
    weights: NDArray[np.float64],
    goes_left: NDArray[np.uint8],
    spare: SpareRows,
) -> None:
    """Move rows that are not packed, in the same way as `_move_packed`."""
    n_left = n_right = np.uint64(0)
    for i in range(rows.shape[0]):
        row, label, weight, is_left = rows[i], labels[i], weights[i], np.uint64(goes_left[i])
        rows[n_left], labels[n_left], weights[n_left] = row, label, weight
        spare.rows[n_right], spare.labels[n_right], spare.weights[n_right] = row, label, weight
        n_left += is_left
        n_right += np.uint64(1) - is_left
    _copy_back(rows[np.int64(n_left) :], spare.rows)
    _copy_back(labels[np.int64(n_left) :], spare.labels)
    _copy_back(weights[np.int64(n_left) :], spare.weights)


@inner_kernel
def _copy_back(right_values: NDArray[Any], spare: NDArray[Any]) -> None:
    """Copy the right rows from the buffer."""
    for i in range(right_values.shape[0]):
        right_values[i] = spare[i]


@inlined_kernel
def partition(
    goes_left: NDArray[np.uint8],
    tree_rows: TreeRows,
    packed: PackedRows | None,
    start: int,
    stop: int,
    spare: SpareRows,
) -> None:
    """Reorder rows[start:stop] in place; goes_left (stop - start,) is 1 for rows that go left and 0 for others.

    `spare` must be large enough for the right side, and is overwritten. Of packed rows, only the words are moved along.
    """
    rows = tree_rows.rows[start:stop]
    if packed is not None and packed.n_fitting > 0:
        _move_packed(rows, packed.words[start:stop], goes_left, spare)
    else:
        _move_plain(rows, tree_rows.labels[start:stop], tree_rows.weights[start:stop], goes_left, spare)
