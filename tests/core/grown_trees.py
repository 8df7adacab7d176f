"""Fitted trees as tests compare them."""

import numpy as np

from core.kernels.tree_nodes import LEAF, NO_DISTRIBUTION, GrowingNodes, TreeNodes


def node_bytes(model):
    """Every array of every tree, in order."""
    return [array.tobytes() for nodes in model.trees_ for array in nodes]


def at_all_nodes(model, column):
    """One column of the trees' nodes, tree after tree."""
    return np.concatenate([getattr(nodes, column) for nodes in model.trees_])


def at_roots(model, column):
    """One column of the trees' nodes at the root of each tree."""
    return np.array([getattr(nodes, column)[0] for nodes in model.trees_])


def compact(nodes: GrowingNodes) -> TreeNodes:
    """The plain twin of what growth keeps of nodes that are in preorder."""
    n_classes = nodes.value.shape[1]
    distribution, mixed = [], []
    for child, shares in zip(nodes.children_left, nodes.value.tolist(), strict=True):
        if child != LEAF:
            distribution.append(NO_DISTRIBUTION)
        elif sorted(shares) == [0.0] * (n_classes - 1) + [1.0]:
            distribution.append(shares.index(1.0))
        else:
            distribution.append(n_classes + len(mixed))
            mixed.append(shares)
    columns = nodes._asdict()
    del columns["value"]
    return TreeNodes(
        **columns,
        distribution=np.array(distribution, dtype=np.int32),
        mixed=np.array(mixed, dtype=np.float64).reshape(-1, n_classes),
    )


def leaf_distributions(nodes: TreeNodes):
    """(node, class): what leaves hold, zero at inner nodes."""
    table = np.concatenate([np.eye(nodes.mixed.shape[1]), nodes.mixed])
    return np.where((nodes.distribution >= 0)[:, np.newaxis], table[nodes.distribution], 0.0)
