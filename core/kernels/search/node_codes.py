"""The codes of one feature in one node."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.features import BinnedFeatures
from core.kernels.jit import inlined_kernel, inner_kernel

#: Nodes of at most this many rows read codes row by row: their rows fit the cache together, so that the subtree below
#: finds them there, whichever features it draws.
MOST_ROWS_BY_ROW = 1024


class NodeRows(NamedTuple):
    """The rows of one node; all arrays (n_node,)."""

    rows: NDArray[np.uint32]
    classes: NDArray[np.uint16]  # position among the classes present in the node
    weights: NDArray[np.float64]


@inner_kernel
def _gather_by_row(codes_by_row: NDArray[Any], rows: NDArray[np.uint32], feature: int, gathered: NDArray[Any]) -> None:
    for i in range(rows.shape[0]):
        gathered[i] = codes_by_row[rows[i], feature]


@inner_kernel
def _gather_by_column(column: NDArray[Any], rows: NDArray[np.uint32], gathered: NDArray[Any]) -> None:
    for i in range(rows.shape[0]):
        gathered[i] = column[rows[i]]


@inner_kernel
def code_range(codes: NDArray[Any], n_rows: int) -> tuple[int, int]:
    """Lowest and highest of the first `n_rows` codes."""
    lowest = highest = codes[0]
    for i in range(n_rows):
        lowest = min(lowest, codes[i])
        highest = max(highest, codes[i])
    return int(np.int64(lowest)), int(np.int64(highest))


@inlined_kernel
def gather_codes(
    features: BinnedFeatures, feature: int, rows: NDArray[np.uint32], gathered: NDArray[Any]
) -> tuple[int, int]:
    """Copy one feature's codes of a node side by side into `gathered` (n_node,); returns the lowest and the highest."""
    if rows.shape[0] <= MOST_ROWS_BY_ROW:
        _gather_by_row(features.codes_by_row, rows, feature, gathered)
    else:
        _gather_by_column(features.codes[feature], rows, gathered)
    return code_range(gathered, rows.shape[0])


@inner_kernel
def count_up_to(codes: NDArray[Any], n_rows: int, last_code: int, also: int) -> int:
    """How many of the first `n_rows` codes are at most `last_code`, or are `also`."""
    last, other = codes.dtype.type(last_code), codes.dtype.type(also)
    n_counted = 0
    for i in range(n_rows):
        n_counted += int(codes[i] <= last) | int(codes[i] == other)
    return n_counted


@inner_kernel
def mark_up_to(codes: NDArray[Any], n_rows: int, last_code: int, also: int, taken: NDArray[np.uint8]) -> int:
    """Set `taken` to 1 where a code is at most `last_code`, or is `also`, else to 0; returns the number of ones."""
    last, other = codes.dtype.type(last_code), codes.dtype.type(also)
    n_taken = 0
    for i in range(n_rows):
        taken[i] = np.uint8(codes[i] <= last) | np.uint8(codes[i] == other)
    for i in range(n_rows):
        n_taken += int(np.int64(taken[i]))
    return n_taken
