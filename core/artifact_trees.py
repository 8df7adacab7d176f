"""The trees of an artefact: laid end to end in the arrays of the file, and taken from them as views.

    feature       | tree 0 | tree 1     | tree 2 | ...
    tree_offsets  0        3            8        11        tree t owns nodes offsets[t]:offsets[t + 1]

What comes from a file is checked until no walk down a tree can leave its arrays or go round in circles.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.exceptions import ArtifactError
from core.kernels.tree_nodes import LEAF, NO_FEATURE, TreeNodes
from core.tree_structure import Trees

#: An array of the file in pieces that follow each other, so that writing it needs no second copy of the trees.
Pieces = list[NDArray[Any]]

_OFFSETS = "tree_offsets"
_SUM_TOLERANCE = 1e-6
_NODE_DTYPES = {
    "children_left": np.int32,
    "children_right": np.int32,
    "feature": np.int32,
    "threshold": np.float64,
    "missing_go_to_left": np.uint8,
    "value": np.float64,
    "impurity": np.float64,
    "n_node_samples": np.int64,
    "weighted_n_node_samples": np.float64,
}


def arrays_of(trees: Trees) -> dict[str, Pieces]:
    """The arrays of the file by name, in their order."""
    offsets = np.cumsum([0, *(len(nodes.feature) for nodes in trees)], dtype=np.int64)
    return {_OFFSETS: [offsets], **{name: [getattr(nodes, name) for nodes in trees] for name in TreeNodes._fields}}


def trees_of(arrays: Mapping[str, NDArray[Any]]) -> Trees:
    """Trees as views of the arrays of a file, whose nodes are still to be checked. Raises ArtifactError."""
    if set(arrays) != {_OFFSETS, *TreeNodes._fields}:
        raise ArtifactError("the arrays are not those of a forest.")
    columns = [arrays[name] for name in TreeNodes._fields]
    offsets, n_nodes = arrays[_OFFSETS], len(columns[0])
    if any(len(column) != n_nodes for column in columns):
        raise ArtifactError("the arrays of the nodes are not equally long.")
    _check_offsets(offsets, n_nodes)
    return tuple(TreeNodes(*(column[first:last] for column in columns)) for first, last in pairwise(offsets.tolist()))


def check_nodes(nodes: TreeNodes, n_features: int, n_classes: int) -> None:
    """Whether a tree is one that growth could have made, and safe to walk. Raises ArtifactError."""
    n_nodes = len(nodes.feature)
    for name, array in nodes._asdict().items():
        shape = (n_nodes, n_classes) if name == "value" else (n_nodes,)
        if array.shape != shape or array.dtype != _NODE_DTYPES[name]:
            raise ArtifactError(f"array {name!r} has the wrong shape or type.")
    _check_children(nodes)
    _check_numbers(nodes, n_features)


def _check_offsets(offsets: NDArray[Any], n_nodes: int) -> None:
    if offsets.ndim != 1 or offsets.dtype != np.int64 or len(offsets) < 2:
        raise ArtifactError("the trees' offsets have the wrong shape or type.")
    if offsets[0] != 0 or offsets[-1] != n_nodes or not (offsets[1:] > offsets[:-1]).all():
        raise ArtifactError("the trees' offsets do not cover the nodes.")


def _check_children(nodes: TreeNodes) -> None:
    """Children come after their parent, within its tree: every walk goes down and ends. Leaves have neither child, and
    every node but the root is the child of one parent, so that subtrees are as large as their nodes are many.
    """
    n_nodes = len(nodes.feature)
    inner = np.flatnonzero(nodes.children_left != LEAF)
    has_parent = np.zeros(n_nodes, dtype=bool)
    for children in (nodes.children_left, nodes.children_right):
        below = children[inner]
        if np.count_nonzero(children != LEAF) != len(inner) or not ((below > inner) & (below < n_nodes)).all():
            raise ArtifactError("a node has an impossible child.")
        has_parent[below] = True
    if n_nodes != 2 * len(inner) + 1 or not has_parent[1:].all():
        raise ArtifactError("a node has no parent, or more than one.")


def _check_numbers(nodes: TreeNodes, n_features: int) -> None:
    leaf = nodes.children_left == LEAF
    feature_is_known = (nodes.feature >= 0) & (nodes.feature < n_features)
    if not np.where(leaf, nodes.feature == NO_FEATURE, feature_is_known).all():
        raise ArtifactError("a node splits on a feature that does not exist.")
    if np.isnan(nodes.threshold).any() or not np.isfinite(nodes.impurity).all():
        raise ArtifactError("a threshold or an impurity is not a number.")
    if not ((nodes.value >= 0).all() and (np.abs(nodes.value.sum(axis=1) - 1) < _SUM_TOLERANCE).all()):
        raise ArtifactError("a node's value is no class distribution.")
    if not (np.isfinite(nodes.weighted_n_node_samples).all() and (nodes.missing_go_to_left <= 1).all()):
        raise ArtifactError("a node's weight or missing side is no valid number.")
