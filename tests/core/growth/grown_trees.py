"""Helpers that compare grown trees."""

import numpy as np

from core.kernels.growth.tree_nodes import LEAF, NO_FEATURE, GrowingNodes, TreeNodes


def node_bytes(model):
    """Return the bytes of all arrays of all trees, in order."""
    return [array.tobytes() for nodes in model.trees_ for array in nodes]


def at_all_nodes(model, column):
    """Return one column of the nodes of all trees, in order."""
    return np.concatenate([getattr(nodes, column) for nodes in model.trees_])


def at_roots(model, column):
    """Return one column of the nodes at the root of each tree."""
    return np.array([getattr(nodes, column)[0] for nodes in model.trees_])


def compact(nodes: GrowingNodes) -> TreeNodes:
    """Return the compact form of nodes in preorder, as a reference for the kernel."""
    n_classes = nodes.class_weights.shape[1]
    link: list[int] = []
    impure: list[list[float]] = []
    for right_child, weights in zip(nodes.children_right.tolist(), nodes.class_weights.tolist(), strict=True):
        if right_child != LEAF:
            link.append(right_child)
        elif weights.count(0.0) == n_classes - 1:
            link.append(weights.index(max(weights)))
        else:
            link.append(n_classes + len(impure))
            impure.append([weight / nodes.weighted_n_node_samples[len(link) - 1] for weight in weights])
    columns = {name: column for name, column in nodes._asdict().items() if name in TreeNodes._fields}
    return TreeNodes(
        **columns,
        link=np.array(link, dtype=np.int32),
        impure_distributions=np.array(impure, dtype=np.float64).reshape(-1, n_classes),
        category_nodes=np.empty(0, dtype=np.int32),
        category_set_sizes=np.empty(0, dtype=np.int32),
        category_blocks=np.empty(0, dtype=np.uint64),
    )


def leaf_distributions(nodes: TreeNodes):
    """Return the class distributions of leaves, (node, class), and zero at inner nodes."""
    table = np.concatenate([np.eye(nodes.impure_distributions.shape[1]), nodes.impure_distributions])
    is_leaf = nodes.feature == NO_FEATURE
    return np.where(is_leaf[:, np.newaxis], table[np.where(is_leaf, nodes.link, 0)], 0.0)
