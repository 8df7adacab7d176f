"""Which leaf each node belongs to once splits into too small children are removed."""

import numpy as np
from numpy.typing import NDArray

from core.kernels.growth.tree_nodes import NO_FEATURE, TreeNodes
from core.kernels.jit import kernel


@kernel
def nodes_after_pruning(nodes: TreeNodes, min_samples_leaf: int, remaining: NDArray[np.int32]) -> None:
    """Fill remaining (node,): a node that remains has its own number, one that is removed has that of its new leaf."""
    remaining[0] = 0
    for node in range(nodes.feature.shape[0]):  # parents precede their children
        if nodes.feature[node] == NO_FEATURE:
            continue
        left, right = node + 1, nodes.link[node]
        fewest = min(nodes.n_node_samples[left], nodes.n_node_samples[right])
        is_split = remaining[node] == node and fewest >= min_samples_leaf
        remaining[left] = left if is_split else remaining[node]
        remaining[right] = right if is_split else remaining[node]
