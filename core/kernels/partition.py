"""Split the rows of a node in place, left rows first, order kept on both sides.

rows:  [ ... | start        node        stop | ... ]
after: [ ... | start  left  cut  right  stop | ... ]
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel


class TreeRows(NamedTuple):
    """The rows of a whole tree, moved together so that each node owns one contiguous range; all arrays (n_rows,)."""

    rows: NDArray[np.int32]
    labels: NDArray[np.uint16]
    weights: NDArray[np.float64]


@inner_kernel
def partition(
    codes: NDArray[Any], last_left_code: int, left_too: int, tree_rows: TreeRows, start: int, stop: int, spare: TreeRows
) -> int:
    """Reorder rows[start:stop]; returns the cut. `codes` (stop - start,) are those of the node's rows in their order,
    `left_too` is a code that goes left as well. `spare` needs room for the right side, its content is overwritten.
    """
    rows, labels, weights = tree_rows.rows, tree_rows.labels, tree_rows.weights
    spare_rows, spare_labels, spare_weights = spare.rows, spare.labels, spare.weights
    cut = start
    n_right = 0
    # invariant: rows[start:cut] go left, spare[:n_right] go right, both in their old order; cut <= i
    for i in range(start, stop):
        code = np.int64(codes[i - start])
        goes_left = int(code <= last_left_code) | int(code == left_too)
        row, label, weight = rows[i], labels[i], weights[i]
        rows[cut], labels[cut], weights[cut] = row, label, weight
        spare_rows[n_right], spare_labels[n_right], spare_weights[n_right] = row, label, weight
        cut += goes_left
        n_right += 1 - goes_left
    for i in range(n_right):
        rows[cut + i], labels[cut + i], weights[cut + i] = spare_rows[i], spare_labels[i], spare_weights[i]
    return cut
