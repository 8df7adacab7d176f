"""Sets of categories of the splits of a grown tree.

A split of a categorical feature sends a set of categories to one child, and to the other child all other categories and
the missing values: that child also gets categories that the node has not seen. The set is stored in blocks of
BLOCK_BITS categories, without the empty ones:

    block     | number of the block, 32 bits | one bit per category, 32 bits |      ascending

so that a set never takes more memory than its categories in a list, however many levels the feature has.

Sets are read off the rows of the tree when it is grown. The rows of each node are then contiguous:

    rows      | ... left child ... | ... right child ... |
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.features import BinnedFeatures
from core.kernels.growth.tree_nodes import NO_FEATURE, TreeNodes
from core.kernels.jit import inner_kernel, kernel

BLOCK_BITS = 32
BLOCK_SHIFT = 5
_BIT_MASK = BLOCK_BITS - 1
_LOW_HALF = np.uint64(0xFFFFFFFF)
_ONE, _HALF_WORD = np.uint64(1), np.uint64(32)


@inner_kernel
def block_number(block: np.uint64) -> int:
    """Return the number of a block, which is the code of its first category divided by BLOCK_BITS."""
    return int(np.int64(block >> _HALF_WORD))


@inner_kernel
def contains(blocks: NDArray[np.uint64], first: int, end: int, value: float) -> bool:
    """Return whether the set blocks[first:end] contains the category `value`; NaN and fractions are no categories."""
    if not 0.0 <= value < 2147483648.0:
        return False
    code = int(value)
    if code != value:
        return False
    number, n_left = code >> BLOCK_SHIFT, end - first
    # invariant: the block is among the n_left blocks from `first` on, if it exists
    while n_left > 1:
        half = n_left >> 1
        if block_number(blocks[first + half]) <= number:
            first += half
            n_left -= half
        else:
            n_left = half
    if n_left == 0 or block_number(blocks[first]) != number:
        return False
    return bool((blocks[first] >> np.uint64(code & _BIT_MASK)) & _ONE == _ONE)


@inner_kernel
def _fill_row_starts(tree: TreeNodes, starts: NDArray[np.int64]) -> int:
    """Fill starts (node,) with the first row of each node; return the number of splits of categories."""
    n_categorical = 0
    starts[0] = 0
    for node in range(tree.feature.shape[0]):
        if tree.feature[node] != NO_FEATURE:
            starts[node + 1] = starts[node]
            starts[tree.link[node]] = starts[node] + tree.n_node_samples[node + 1]
            n_categorical += int(np.isnan(tree.threshold[node]))
    return n_categorical


@inner_kernel
def _write_set(
    column: NDArray[Any], rows: NDArray[np.uint32], bits: NDArray[np.uint64], out: NDArray[np.uint64]
) -> int:
    """Write the blocks of the codes of `rows` to the front of `out`; return their number.

    `bits` (block,) is zero before and after.
    """
    lowest, highest = np.int64(bits.shape[0]), np.int64(-1)
    for i in range(rows.shape[0]):
        code = np.int64(column[rows[i]])
        number = code >> BLOCK_SHIFT
        bits[number] |= _ONE << np.uint64(code & _BIT_MASK)
        lowest, highest = min(lowest, number), max(highest, number)
    n_blocks = 0
    for block in range(int(lowest), int(highest) + 1):
        if bits[block] != np.uint64(0):
            out[n_blocks] = (np.uint64(block) << _HALF_WORD) | bits[block]
            bits[block] = np.uint64(0)
            n_blocks += 1
    return n_blocks


@kernel
def with_category_sets(tree: TreeNodes, features: BinnedFeatures, rows: NDArray[np.uint32]) -> TreeNodes:
    """Return `tree` with the sets of its splits of categories. `rows` are those of the tree, ordered by its leaves."""
    n_nodes = tree.feature.shape[0]
    starts = np.empty(n_nodes + 1, dtype=np.int64)
    n_categorical = _fill_row_starts(tree, starts) if n_nodes > 0 else 0
    if n_categorical == 0:
        return tree
    numbers, sizes = np.empty(n_categorical, dtype=np.int32), np.empty(n_categorical, dtype=np.int32)
    n_bits = (np.int64(features.n_bins.max()) >> BLOCK_SHIFT) + 1
    bits = np.zeros(n_bits, dtype=np.uint64)
    blocks = np.empty(_most_blocks(tree, features), dtype=np.uint64)
    n_sets, n_blocks = 0, 0
    for node in range(n_nodes):
        if tree.feature[node] != NO_FEATURE and np.isnan(tree.threshold[node]):
            child = tree.link[node] if tree.missing_go_to_left[node] != 0 else node + 1
            of_child = rows[starts[child] : starts[child] + tree.n_node_samples[child]]
            numbers[n_sets] = node
            sizes[n_sets] = _write_set(features.codes[tree.feature[node]], of_child, bits, blocks[n_blocks:])
            n_blocks += sizes[n_sets]
            n_sets += 1
    return TreeNodes(
        tree.feature, tree.link, tree.threshold, tree.missing_go_to_left, tree.impurity, tree.n_node_samples,
        tree.weighted_n_node_samples, tree.impure_distributions, numbers, sizes, blocks[:n_blocks].copy(),
    )  # fmt: skip


@inner_kernel
def _most_blocks(tree: TreeNodes, features: BinnedFeatures) -> int:
    """Return an upper bound of the number of blocks of all sets."""
    most = np.int64(0)
    for node in range(tree.feature.shape[0]):
        if tree.feature[node] != NO_FEATURE and np.isnan(tree.threshold[node]):
            child = tree.link[node] if tree.missing_go_to_left[node] != 0 else node + 1
            of_feature = (np.int64(features.n_bins[tree.feature[node]]) >> BLOCK_SHIFT) + 1
            most += min(np.int64(tree.n_node_samples[child]), of_feature)
    return int(most)


@kernel
def set_bounds(tree: TreeNodes) -> NDArray[np.int64]:
    """Return the first block of the set of each node and the end of its blocks, (node, 2).

    It is empty for a tree without splits of categories, and undefined for other nodes.
    """
    n_sets = tree.category_nodes.shape[0]
    bounds = np.empty((tree.feature.shape[0] if n_sets > 0 else 0, 2), dtype=np.int64)
    n_blocks = 0
    for i in range(n_sets):
        node = tree.category_nodes[i]
        bounds[node, 0] = n_blocks
        n_blocks += tree.category_set_sizes[i]
        bounds[node, 1] = n_blocks
    return bounds
