"""What a scan of one feature walks over: the node's rows in the order of their codes, or sums of them.

    keys:     [code 3, 0] [code 3, 1] [code 7, 2] ...   ascending; the lowest code of the node is left out
    classes:      k           k           k             found at the position in the key
    weights:      w           w           w

Where codes are few for the rows there are, rows of one code and class are summed into one entry, through a table
(code, class). Otherwise each row is an entry of its own. What follows cannot tell the difference.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inlined_kernel, inner_kernel, kernel
from core.kernels.search.node_codes import NodeRows
from core.kernels.search.ordering import (
    N_DIGITS,
    POSITION_BITS,
    RANK_ROOM,
    code_of,
    keys_above,
    order_keys,
    position_of,
)

#: Rows are summed when the table has at most so many cells for each of them.
MOST_CELLS_PER_ROW = 2
#: The table stays within the second cache.
MOST_CELLS = 1 << 15


class EntryRoom(NamedTuple):
    """Workspace for the entries of one feature in one node, reused for the next."""

    unordered: NDArray[np.int64]  # (row,), keys
    keys: NDArray[np.int64]  # (row or cell,), ascending
    small_keys: NDArray[np.int32]
    starts: NDArray[np.int32]
    classes: NDArray[np.uint16]  # (cell,)
    weights: NDArray[np.float64]  # (cell,)
    table: NDArray[np.float64]  # (code * class,), all zero between features


@kernel
def new_entry_room(n_rows: int) -> EntryRoom:
    """Room for any node of up to `n_rows` rows."""
    n_cells = min(MOST_CELLS, MOST_CELLS_PER_ROW * n_rows)
    return EntryRoom(
        np.empty(n_rows + 1, dtype=np.int64),
        np.empty(max(n_rows, n_cells) + 1, dtype=np.int64),
        np.empty(RANK_ROOM, dtype=np.int32),
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
    for i in range(n_keys):
        key = keys[i]
        row = position_of(key)
        table[(code_of(key) - first_code) * n_classes + classes[row]] += weights[row]


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
    """One entry for each cell in use; empties the table."""
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
    codes: NDArray[Any], node: NodeRows, n_classes: int, lowest: int, highest: int, room: EntryRoom
) -> tuple[int, bool]:
    """Fill `room` from the codes (n_node,) of one feature; returns the number of entries, and whether they are sums.

    Sums have their classes and weights in `room`, rows have them in `node`.
    """
    n_keys = keys_above(codes, node.rows.shape[0], lowest, room.unordered)
    n_codes = highest - lowest
    n_cells = n_codes * n_classes
    if n_cells <= MOST_CELLS_PER_ROW * n_keys and n_cells <= MOST_CELLS:
        _fill_table(room.unordered, n_keys, lowest + 1, n_classes, node.classes, node.weights, room.table)
        n_entries = _list_cells(room.table, lowest + 1, n_codes, n_classes, room.keys, room.classes, room.weights)
        return n_entries, True
    order_keys(room.unordered, n_keys, lowest, highest, room.small_keys, room.starts, room.keys)
    return n_keys, False
