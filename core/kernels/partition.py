"""Split the rows of a node in place, left rows first, order kept on both sides.

rows:  [ ... | start        node        stop | ... ]
after: [ ... | start  left  cut  right  stop | ... ]
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inlined_kernel, inner_kernel, kernel
from core.kernels.packed_sums import PackedRows


class TreeRows(NamedTuple):
    """The rows of a whole tree, moved together so that each node owns one contiguous range; all arrays (n_rows,)."""

    rows: NDArray[np.uint32]
    labels: NDArray[np.uint16]
    weights: NDArray[np.float64]


class SpareRows(NamedTuple):
    """Room for the rows of one side; all arrays (n_rows,)."""

    rows: NDArray[np.uint32]
    labels: NDArray[np.uint16]
    weights: NDArray[np.float64]
    words: NDArray[np.uint64]


@kernel
def new_spare_rows(n_rows: int) -> SpareRows:
    return SpareRows(
        np.empty(n_rows, dtype=np.uint32),
        np.empty(n_rows, dtype=np.uint16),
        np.empty(n_rows, dtype=np.float64),
        np.empty(n_rows, dtype=np.uint64),
    )


@inner_kernel
def _move(values: NDArray[Any], goes_left: NDArray[np.uint8], spare: NDArray[Any]) -> None:
    """Left values to the front, right ones behind them. Each value is written to both places, and one of them counts:
    without a branch, as which one it is is a coin toss. Unsigned places spare the test for negative ones.
    """
    n_left = n_right = np.uint64(0)
    # invariant: values[:n_left] go left, spare[:n_right] go right, both in their old order; n_left + n_right = i
    for i in range(values.shape[0]):
        value = values[i]
        values[n_left] = value
        spare[n_right] = value
        n_left += np.uint64(goes_left[i])
        n_right += np.uint64(1) - np.uint64(goes_left[i])
    rights = values[np.int64(n_left) :]
    for i in range(rights.shape[0]):
        rights[i] = spare[i]


@inlined_kernel
def partition(
    goes_left: NDArray[np.uint8], tree_rows: TreeRows, packed: PackedRows, start: int, stop: int, spare: SpareRows
) -> None:
    """Reorder rows[start:stop]; goes_left (stop - start,) holds 1 for rows that go left and 0 for others. `spare` needs
    room for the right side, its content is overwritten. Of packed rows, only the words move along.
    """
    _move(tree_rows.rows[start:stop], goes_left, spare.rows)
    if packed.n_fitting > 0:
        _move(packed.words[start:stop], goes_left, spare.words)
    else:
        _move(tree_rows.labels[start:stop], goes_left, spare.labels)
        _move(tree_rows.weights[start:stop], goes_left, spare.weights)
