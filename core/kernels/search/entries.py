"""Entries of a scan of one feature: the node's rows in the order of their codes, or sums of such rows.

    keys:     [code 3, 0] [code 3, 1] [code 7, 2] ...   ascending; the lowest code of the node is left out
    classes:      k           k           k             indexed by the position in the key
    weights:      w           w           w

If there are few codes relative to the number of rows, the rows of one code and class are summed to one entry, in a
table (code, class). Otherwise each row is an entry. The scan treats both alike.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inlined_kernel, inner_kernel
from core.kernels.search.node_codes import NodeRows
from core.kernels.search.ordering import (
    N_DIGITS,
    POSITION_BITS,
    RANK_BUFFER_LENGTH,
    fill_keys_above,
    key_code,
    key_position,
    order_keys,
)

#: Rows are summed if the table has at most this many cells per row.
MAX_CELLS_PER_ROW = 2
#: The table fits into the L2 cache.
MAX_CELLS = 1 << 15


class EntryWorkspace(NamedTuple):
    """Workspace for the entries of one feature in one node, reused for the next feature."""

    unordered: NDArray[np.int64]  # (row,), keys in row order
    keys: NDArray[np.int64]  # (row or cell,), ascending
    small_keys: NDArray[np.int32]  # (RANK_BUFFER_LENGTH,)
    starts: NDArray[np.int32]  # (N_DIGITS,)
    classes: NDArray[np.uint16]  # (cell,)
    weights: NDArray[np.float64]  # (cell,)
    table: NDArray[np.float64]  # (code * class,), zero between two features


def new_entry_workspace(n_rows: int) -> EntryWorkspace:
    """Return a workspace for nodes of up to `n_rows` rows."""
    n_cells = min(MAX_CELLS, MAX_CELLS_PER_ROW * n_rows)
    return EntryWorkspace(
        np.empty(n_rows + 1, dtype=np.int64),
        np.empty(max(n_rows, n_cells) + 1, dtype=np.int64),
        np.empty(RANK_BUFFER_LENGTH, dtype=np.int32),
        np.empty(N_DIGITS, dtype=np.int32),
        np.empty(n_cells + 1, dtype=np.uint16),
        np.empty(n_cells + 1, dtype=np.float64),
        np.zeros(n_cells, dtype=np.float64),
    )


@inner_kernel
def _fill_table(
    keys: NDArray[np.int64],
    n_keys: int,
    first_code: int,
    n_classes: int,
    classes: NDArray[np.uint16],
    weights: NDArray[np.float64],
    table: NDArray[np.float64],
) -> None:
    """Add the weights of the first `n_keys` rows to `table` (code * class,), whose first code is `first_code`."""
    for i in range(n_keys):
        key = keys[i]
        row = key_position(key)
        table[(key_code(key) - first_code) * n_classes + classes[row]] += weights[row]


@inner_kernel
def _list_cells(
    table: NDArray[np.float64],
    first_code: int,
    n_codes: int,
    n_classes: int,
    keys: NDArray[np.int64],
    classes: NDArray[np.uint16],
    weights: NDArray[np.float64],
) -> int:
    """List one entry per cell in use and clear the table; return the number of entries."""
    n_entries = 0
    for code in range(n_codes):
        for k in range(n_classes):
            weight = table[code * n_classes + k]
            keys[n_entries] = ((first_code + code) << POSITION_BITS) | n_entries
            classes[n_entries] = k
            weights[n_entries] = weight
            n_entries += int(weight > 0.0)
            table[code * n_classes + k] = 0.0
    return n_entries


@inlined_kernel
def list_entries(
    codes: NDArray[Any], node: NodeRows, n_classes: int, lowest: int, highest: int, workspace: EntryWorkspace
) -> tuple[int, bool]:
    """Fill `workspace` from the codes (n_node,) of one feature; return the number of entries and whether they are sums.

    Classes and weights of sums are in `workspace`, those of rows in `node`.
    """
    n_keys = fill_keys_above(codes, node.rows.shape[0], lowest, workspace.unordered)
    n_codes = highest - lowest
    n_cells = n_codes * n_classes
    if n_cells <= MAX_CELLS_PER_ROW * n_keys and n_cells <= MAX_CELLS:
        _fill_table(workspace.unordered, n_keys, lowest + 1, n_classes, node.classes, node.weights, workspace.table)
        n_entries = _list_cells(
            workspace.table, lowest + 1, n_codes, n_classes, workspace.keys, workspace.classes, workspace.weights
        )
        return n_entries, True
    order_keys(workspace.unordered, n_keys, lowest, highest, workspace.small_keys, workspace.starts, workspace.keys)
    return n_keys, False
