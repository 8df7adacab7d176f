"""Split the rows of a node in place, left rows first, order kept on both sides.

rows:  [ ... | start        node        stop | ... ]
after: [ ... | start  left  cut  right  stop | ... ]
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import kernel


class TreeRows(NamedTuple):
    """The rows of a whole tree, moved together so that each node owns one contiguous range; all arrays (n_rows,)."""

    rows: NDArray[np.int32]
    labels: NDArray[np.int32]
    weights: NDArray[np.float64]


@kernel
def partition(
    codes: NDArray[Any],
    last_left_code: int,
    missing_code: int,
    missing_goes_left: bool,
    tree_rows: TreeRows,
    start: int,
    stop: int,
    spare: TreeRows,
) -> int:
    """Reorder rows[start:stop]; returns the cut. `spare` needs room for the right side, its content is overwritten."""
    rows, labels, weights = tree_rows.rows, tree_rows.labels, tree_rows.weights
    cut = start
    n_right = 0
    # invariant: rows[start:cut] go left, spare[:n_right] go right, both in their old order; cut <= i
    for i in range(start, stop):
        code = np.int64(codes[rows[i]])
        goes_left = int(code <= last_left_code or (missing_goes_left and code == missing_code))
        row, label, weight = rows[i], labels[i], weights[i]
        rows[cut], labels[cut], weights[cut] = row, label, weight
        spare.rows[n_right], spare.labels[n_right], spare.weights[n_right] = row, label, weight
        cut += goes_left
        n_right += 1 - goes_left
    rows[cut:stop] = spare.rows[:n_right]
    labels[cut:stop] = spare.labels[:n_right]
    weights[cut:stop] = spare.weights[:n_right]
    return cut
