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
def _write_sets(
    codes: NDArray[Any],
    features: NDArray[np.int32],
    rows: NDArray[np.uint32],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    bits: NDArray[np.uint64],
    sizes: NDArray[np.int32],
    blocks: NDArray[np.uint64],
) -> None:
    """Fill sizes (set,) and `blocks` with the sets of codes[features[i], rows[starts[i]:stops[i]]]."""
    n_blocks = 0
    for i in range(features.shape[0]):
        sizes[i] = _write_set(codes[features[i]], rows[starts[i] : stops[i]], bits, blocks[n_blocks:])
        n_blocks += sizes[i]


def with_category_sets(tree: TreeNodes, features: BinnedFeatures, rows: NDArray[np.uint32]) -> TreeNodes:
    """Return `tree` with the sets of its splits of categories. `rows` are those of the tree, ordered by its leaves."""
    nodes = np.flatnonzero(np.isnan(tree.threshold)).astype(np.int32)
    children = np.where(tree.missing_go_to_left[nodes] != 0, tree.link[nodes], nodes + 1)
    rows_per_leaf = np.where(tree.feature == NO_FEATURE, tree.n_node_samples, 0)
    starts = (np.cumsum(rows_per_leaf, dtype=np.int64) - rows_per_leaf)[children]
    stops = starts + tree.n_node_samples[children]
    split_features, blocks_per_feature = tree.feature[nodes], (features.n_bins >> BLOCK_SHIFT) + 1
    most_blocks = np.minimum(stops - starts, blocks_per_feature[split_features]).sum()
    sizes, blocks = np.empty(len(nodes), dtype=np.int32), np.empty(most_blocks, dtype=np.uint64)
    bits = np.zeros(blocks_per_feature.max(), dtype=np.uint64)
    _write_sets(features.codes, split_features, rows, starts, stops, bits, sizes, blocks)
    return tree._replace(
        category_nodes=nodes, category_set_sizes=sizes, category_blocks=blocks[: sizes.sum(dtype=np.int64)].copy()
    )


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
