"""From raw feature values to leaves: `x <= threshold` goes left, a missing value goes where the node learned it
should.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import kernel
from core.kernels.tree_nodes import LEAF, TreeNodes


@kernel
def _leaf_of_row(X: NDArray[Any], row: int, nodes: TreeNodes, root: int) -> int:
    """Leaf of one row, numbered from the root of its tree."""
    node = root
    while nodes.children_left[node] != LEAF:
        value = X[row, nodes.feature[node]]
        goes_left = nodes.missing_go_to_left[node] != 0 if np.isnan(value) else value <= nodes.threshold[node]
        node = root + (nodes.children_left[node] if goes_left else nodes.children_right[node])
    return node - root


@kernel
def find_leaves(X: NDArray[Any], nodes: TreeNodes, tree_offsets: NDArray[np.int64], leaves: NDArray[np.int32]) -> None:
    """Fill leaves (row, tree). X: float32 or float64 (row, feature), C order, writeable."""
    for tree in range(tree_offsets.shape[0] - 1):
        for row in range(X.shape[0]):
            leaves[row, tree] = _leaf_of_row(X, row, nodes, tree_offsets[tree])


@kernel
def mean_leaf_values(
    X: NDArray[Any], nodes: TreeNodes, tree_offsets: NDArray[np.int64], out: NDArray[np.float64]
) -> None:
    """Fill out (row, class) with the mean leaf value over trees, summed in tree order for every row."""
    out[:] = 0.0
    n_trees = tree_offsets.shape[0] - 1
    n_classes = out.shape[1]
    for tree in range(n_trees):
        root = tree_offsets[tree]
        for row in range(X.shape[0]):
            leaf = root + _leaf_of_row(X, row, nodes, root)
            for k in range(n_classes):
                out[row, k] += nodes.value[leaf, k]
    for row in range(X.shape[0]):
        for k in range(n_classes):
            out[row, k] /= n_trees
