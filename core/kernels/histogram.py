"""What one feature looks like inside one node: the values present, ascending, each with the class weights of its rows.

    group:    0        1              2          values ascending, missing last
    entries:  [k w]    [k w] [k w]    [k w] ...  class and weight, first[g]:first[g + 1] belongs to group g

A large node sums its rows into a table (code, class) and lists the cells in use. A small one, where most cells would
be empty, lists its rows ordered by code instead. What follows cannot tell the difference.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import kernel


class NodeRows(NamedTuple):
    """The rows of one node; all arrays (n_node,)."""

    rows: NDArray[np.int32]
    classes: NDArray[np.int32]  # position among the classes present in the node
    weights: NDArray[np.float64]


class Groups(NamedTuple):
    """Workspace for one feature of one node, reused for the next; see the picture above."""

    codes: NDArray[np.int64]  # (group,), ascending
    n_rows: NDArray[np.int64]  # (group,)
    first: NDArray[np.int64]  # (group + 1,)
    classes: NDArray[np.int64]  # (entry,)
    weights: NDArray[np.float64]  # (entry,)
    n_by_code: NDArray[np.int64]  # (code,), rows by code; all zero between features
    cursor: NDArray[np.int64]  # (code,), next free entry by code
    table: NDArray[np.float64]  # (code * class,); all zero between features


@kernel
def new_groups(n_codes: int, n_classes: int) -> Groups:
    """An empty workspace for codes below `n_codes`."""
    n_cells = n_codes * n_classes
    return Groups(
        np.zeros(n_codes + 1, dtype=np.int64),
        np.zeros(n_codes + 1, dtype=np.int64),
        np.zeros(n_codes + 1, dtype=np.int64),
        np.zeros(n_cells, dtype=np.int64),
        np.zeros(n_cells, dtype=np.float64),
        np.zeros(n_codes, dtype=np.int64),
        np.zeros(n_codes, dtype=np.int64),
        np.zeros(n_cells, dtype=np.float64),
    )


@kernel
def gather_codes(codes: NDArray[Any], rows: NDArray[np.int32], gathered: NDArray[Any]) -> bool:
    """Copy one feature's codes of a node side by side; returns whether they differ. Stops early only if they do not."""
    n_rows = rows.shape[0]
    first = codes[rows[0]]
    i = 0
    while i < n_rows and codes[rows[i]] == first:
        gathered[i] = first
        i += 1
    varies = bool(i < n_rows)
    while i < n_rows:
        gathered[i] = codes[rows[i]]
        i += 1
    return varies


@kernel
def group_rows(codes: NDArray[Any], node: NodeRows, n_codes: int, n_classes: int, groups: Groups) -> int:
    """Fill the workspace with the node's rows, `codes` (n_node,); returns the number of groups."""
    n_groups = _count_codes(codes, n_codes, groups)
    if 2 * codes.shape[0] > n_groups * n_classes:
        _list_cells(codes, node, n_groups, n_classes, groups)
    else:
        _list_rows(codes, node, n_groups, groups)
    return n_groups


@kernel
def _count_codes(codes: NDArray[Any], n_codes: int, groups: Groups) -> int:
    """Fill `codes` and `n_rows` of the groups, leaving `n_by_code` at zero.

    A code is noted when its count is still zero, without a branch, because in small nodes that test is a coin toss.
    """
    n_groups = 0
    for i in range(codes.shape[0]):
        code = np.int64(codes[i])
        groups.codes[n_groups] = code
        n_groups += int(groups.n_by_code[code] == 0)
        groups.n_by_code[code] += 1
    _order_codes(groups.codes, groups.n_by_code, n_groups, n_codes)
    for g in range(n_groups):
        code = groups.codes[g]
        groups.n_rows[g] = groups.n_by_code[code]
        groups.n_by_code[code] = 0
    return n_groups


@kernel
def _order_codes(present: NDArray[np.int64], count: NDArray[np.int64], n_present: int, n_codes: int) -> None:
    """Sort the present codes: by insertion while that beats a walk over all counts."""
    if n_present * n_present > 4 * n_codes:
        position = 0
        for code in range(n_codes):
            present[position] = code
            position += int(count[code] != 0)
        return
    for i in range(1, n_present):
        code = present[i]
        j = i
        while j > 0 and present[j - 1] > code:
            present[j] = present[j - 1]
            j -= 1
        present[j] = code


@kernel
def _list_cells(codes: NDArray[Any], node: NodeRows, n_groups: int, n_classes: int, groups: Groups) -> None:
    """Entries = the cells (code, class) in use, classes ascending."""
    table = groups.table
    for i in range(codes.shape[0]):
        table[np.int64(codes[i]) * n_classes + node.classes[i]] += node.weights[i]
    n_entries = 0
    for g in range(n_groups):
        groups.first[g] = n_entries
        cell = groups.codes[g] * n_classes
        for k in range(n_classes):
            groups.classes[n_entries] = k
            groups.weights[n_entries] = table[cell + k]
            n_entries += int(table[cell + k] > 0.0)
            table[cell + k] = 0.0
    groups.first[n_groups] = n_entries


@kernel
def _list_rows(codes: NDArray[Any], node: NodeRows, n_groups: int, groups: Groups) -> None:
    """Entries = the rows, ordered by code and, within a code, as in the node."""
    n_entries = 0
    for g in range(n_groups):
        groups.first[g] = n_entries
        groups.cursor[groups.codes[g]] = n_entries
        n_entries += groups.n_rows[g]
    groups.first[n_groups] = n_entries
    for i in range(codes.shape[0]):
        code = np.int64(codes[i])
        entry = groups.cursor[code]
        groups.classes[entry] = node.classes[i]
        groups.weights[entry] = node.weights[i]
        groups.cursor[code] = entry + 1
