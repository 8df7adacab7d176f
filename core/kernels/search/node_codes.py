"""Codes of one feature in one node."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.features import BinnedFeatures
from core.kernels.jit import inlined_kernel, inner_kernel

#: Nodes of at most this many rows read the codes row by row: all their rows fit into the cache, where the nodes below
#: find them, whatever features they draw.
MAX_ROWS_READ_BY_ROW = 1024


class NodeRows(NamedTuple):
    """Rows of one node; all arrays (n_node,)."""

    rows: NDArray[np.uint32]
    classes: NDArray[np.uint16]  # position of the class among those of the node
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
    """Return the lowest and the highest of the first `n_rows` codes."""
    lowest = highest = codes[0]
    for i in range(n_rows):
        lowest = min(lowest, codes[i])
        highest = max(highest, codes[i])
    return int(np.int64(lowest)), int(np.int64(highest))


@inlined_kernel
def gather_codes(
    features: BinnedFeatures, feature: int, rows: NDArray[np.uint32], gathered: NDArray[Any]
) -> tuple[int, int]:
    """Copy the codes of one feature in a node into `gathered` (n_node,); return the lowest and the highest."""
    if rows.shape[0] <= MAX_ROWS_READ_BY_ROW:
        _gather_by_row(features.codes_by_row, rows, feature, gathered)
    else:
        _gather_by_column(features.codes[feature], rows, gathered)
    return code_range(gathered, rows.shape[0])


@inner_kernel
def count_up_to(codes: NDArray[Any], n_rows: int, last_code: int, extra_code: int) -> int:
    """Return how many of the first `n_rows` codes are at most `last_code`, or equal to `extra_code`."""
    last, extra = codes.dtype.type(last_code), codes.dtype.type(extra_code)
    n_counted = 0
    for i in range(n_rows):
        n_counted += int(codes[i] <= last) | int(codes[i] == extra)
    return n_counted


@inner_kernel
def mark_up_to(codes: NDArray[Any], n_rows: int, last_code: int, extra_code: int, marks: NDArray[np.uint8]) -> int:
    """Mark the rows whose code is at most `last_code`, or equal to `extra_code`; return their number.

    Fills marks[:n_rows] with 1 for these rows and 0 for all others.
    """
    last, extra = codes.dtype.type(last_code), codes.dtype.type(extra_code)
    n_marked = 0
    for i in range(n_rows):
        marks[i] = np.uint8(codes[i] <= last) | np.uint8(codes[i] == extra)
    for i in range(n_rows):
        n_marked += int(np.int64(marks[i]))
    return n_marked
