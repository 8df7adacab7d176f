"""What one feature looks like inside one node: the values present, ascending, with class weights and row counts."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import kernel


class NodeRows(NamedTuple):
    """The rows of one node; all arrays (n_node,)."""

    rows: NDArray[np.int32]
    classes: NDArray[np.int32]  # position among the classes present in the node
    weights: NDArray[np.float64]


class Histogram(NamedTuple):
    """Workspace for one feature of one node, reused for the next.

    Indexed by code: `class_weights` (code, class) and `counts` (code,) are all zero between features.
    `present` lists the codes that occur, ascending, the missing code (the largest) included.
    """

    class_weights: NDArray[np.float64]
    counts: NDArray[np.int64]
    present: NDArray[np.int64]


@kernel
def new_histogram(n_codes: int, n_classes: int) -> Histogram:
    """An empty workspace for codes below `n_codes`."""
    return Histogram(
        np.zeros((n_codes, n_classes), dtype=np.float64),
        np.zeros(n_codes, dtype=np.int64),
        np.zeros(n_codes + 1, dtype=np.int64),
    )


@kernel
def is_constant(codes: NDArray[Any], node: NodeRows) -> bool:
    """Whether one feature's codes are equal in all rows of the node."""
    first = codes[node.rows[0]]
    for i in range(1, node.rows.shape[0]):  # noqa: SIM110 - plain loops are what numba compiles best
        if codes[node.rows[i]] != first:
            return False
    return True


@kernel
def fill_histogram(codes: NDArray[Any], node: NodeRows, n_codes: int, histogram: Histogram) -> int:
    """Add the rows of the node to an empty histogram; returns how many codes are present.

    A code is appended when its count is still zero, without a branch, because in small nodes that test is a coin toss.
    """
    n_present = 0
    for i in range(node.rows.shape[0]):
        code = np.int64(codes[node.rows[i]])
        histogram.class_weights[code, node.classes[i]] += node.weights[i]
        histogram.present[n_present] = code
        n_present += np.int64(histogram.counts[code] == 0)
        histogram.counts[code] += 1
    _order_present(histogram, n_present, n_codes)
    return n_present


@kernel
def _order_present(histogram: Histogram, n_present: int, n_codes: int) -> None:
    """Sort the present codes: by insertion while that beats a walk over all counts."""
    present = histogram.present
    if n_present * n_present > 4 * n_codes:
        position = 0
        for code in range(n_codes):
            present[position] = code
            position += np.int64(histogram.counts[code] != 0)
        return
    for i in range(1, n_present):
        code = present[i]
        j = i
        while j > 0 and present[j - 1] > code:
            present[j] = present[j - 1]
            j -= 1
        present[j] = code


@kernel
def clear_histogram(histogram: Histogram, n_present: int, n_classes: int) -> None:
    """Make the workspace empty again, touching only what was filled."""
    for i in range(n_present):
        code = histogram.present[i]
        histogram.counts[code] = 0
        for k in range(n_classes):
            histogram.class_weights[code, k] = 0.0
