"""Trees of an artifact, concatenated in the arrays of the file and read from them as views.

    feature        | tree 0 | tree 1     | tree 2 | ...
    tree_offsets   0        3            8        11       tree t has the nodes offsets[t]:offsets[t + 1]
    mixed          | tree 0 |     tree 2     | ...
    mixed_offsets  0        2, 2             7             and likewise rows of `mixed`, numbered from 0 in each tree
    category_offsets, category_block_offsets               and likewise the splits of categories and the blocks of sets

Trees from a file are checked so that no traversal can leave the arrays or run in a cycle.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.artifact.category_sets import CATEGORY_ARRAYS, category_arrays, split_category_arrays
from core.artifact.pieces import Pieces, check_offsets, offsets
from core.exceptions import ArtifactError
from core.growth.tree_structure import Trees
from core.kernels.growth.tree_nodes import NO_FEATURE, TreeNodes

TREE_OFFSETS = "tree_offsets"
_IMPURE_OFFSETS, _IMPURE = "mixed_offsets", "mixed"
_SUM_TOLERANCE = 1e-6
#: Arrays with one entry per node.
_NODE_DTYPES = {
    "feature": np.int32,
    "link": np.int32,
    "threshold": np.float64,
    "missing_go_to_left": np.uint8,
    "impurity": np.float64,
    "n_node_samples": np.int32,
    "weighted_n_node_samples": np.float64,
}


def tree_arrays(trees: Trees) -> dict[str, Pieces]:
    """Return the arrays of the file by name, in their order."""
    return {
        TREE_OFFSETS: [offsets([len(nodes.feature) for nodes in trees])],
        _IMPURE_OFFSETS: [offsets([len(nodes.impure_distributions) for nodes in trees])],
        **{name: [getattr(nodes, name) for nodes in trees] for name in _NODE_DTYPES},
        _IMPURE: [nodes.impure_distributions for nodes in trees],
        **category_arrays(trees),
    }


def trees_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Trees:
    """Return trees as views of the arrays of a file; the caller has to check their nodes. Raises ArtifactError."""
    if set(arrays) != {TREE_OFFSETS, _IMPURE_OFFSETS, *_NODE_DTYPES, _IMPURE, *CATEGORY_ARRAYS}:
        raise ArtifactError("the arrays are not those of a forest.")
    columns, impure = {name: arrays[name] for name in _NODE_DTYPES}, arrays[_IMPURE]
    n_nodes = len(columns["feature"])
    if any(len(column) != n_nodes for column in columns.values()):
        raise ArtifactError("the arrays of the nodes differ in length.")
    node_offsets, impure_offsets = arrays[TREE_OFFSETS], arrays[_IMPURE_OFFSETS]
    check_offsets(TREE_OFFSETS, node_offsets, n_nodes, np.greater)
    check_offsets(_IMPURE_OFFSETS, impure_offsets, len(impure), np.greater_equal)
    if len(node_offsets) != len(impure_offsets):
        raise ArtifactError("the numbers of node offsets and distribution offsets differ.")
    sets = split_category_arrays(arrays, len(node_offsets))
    return tuple(
        TreeNodes(
            **{name: column[first:last] for name, column in columns.items()},
            impure_distributions=impure[first_impure:last_impure],
            **of_tree,
        )
        for (first, last), (first_impure, last_impure), of_tree in zip(
            pairwise(node_offsets.tolist()), pairwise(impure_offsets.tolist()), sets, strict=True
        )
    )


def check_nodes(nodes: TreeNodes, n_features: int, n_classes: int) -> None:
    """Raise ArtifactError unless growth could have made this tree and it is safe to traverse."""
    for name, dtype in _NODE_DTYPES.items():
        _check_array(name, getattr(nodes, name), (len(nodes.feature),), dtype)
    _check_array(_IMPURE, nodes.impure_distributions, (len(nodes.impure_distributions), n_classes), np.float64)
    _check_children(nodes)
    _check_leaves(nodes)
    _check_numbers(nodes, n_features)


def _check_array(name: str, array: NDArray[Any], shape: tuple[int, ...], dtype: Any) -> None:
    if array.shape != shape or array.dtype != dtype:
        raise ArtifactError(f"array {name!r} has the wrong shape or type.")


def check_distributions(rows: NDArray[np.float64]) -> None:
    """Raise ArtifactError unless each row of (row, class) is a probability distribution."""
    with np.errstate(over="ignore"):
        sums = rows.sum(axis=1)
    if not ((rows >= 0).all() and (np.abs(sums - 1) < _SUM_TOLERANCE).all()):
        raise ArtifactError("a class distribution does not sum to 1.")


def _check_children(nodes: TreeNodes) -> None:
    """Raise ArtifactError unless nodes are in preorder and every node except the root has exactly one parent.

    Then every traversal descends and ends. In preorder, the nodes from a parent up to its right child are the parent
    and its left subtree, which are twice as many nodes as inner nodes. If each node has one parent, no other order
    satisfies this count.
    """
    n_nodes, is_inner = len(nodes.feature), nodes.feature != NO_FEATURE
    inner = np.flatnonzero(is_inner)
    right = nodes.link[inner]
    if not ((right > inner + 1) & (right < n_nodes)).all():
        raise ArtifactError("a node has an invalid child.")
    has_parent = np.zeros(n_nodes, dtype=bool)
    has_parent[inner + 1] = has_parent[right] = True
    if n_nodes != 2 * len(inner) + 1 or not has_parent[1:].all():
        raise ArtifactError("a node does not have exactly one parent.")
    n_inner = np.cumsum(is_inner, dtype=np.int32)[right - 1] - np.arange(len(inner), dtype=np.int32)
    if not (right - inner == 2 * n_inner).all():
        raise ArtifactError("the nodes are not in preorder: the children of two nodes are exchanged.")


def _check_leaves(nodes: TreeNodes) -> None:
    n_impure, n_classes = nodes.impure_distributions.shape
    linked = nodes.link[nodes.feature == NO_FEATURE]
    if not ((linked >= 0) & (linked < n_classes + n_impure)).all():
        raise ArtifactError("a leaf refers to a class distribution that does not exist.")
    check_distributions(nodes.impure_distributions)
    if not (nodes.impure_distributions <= 1).all():
        raise ArtifactError("a class distribution has a probability above 1.")


def _check_numbers(nodes: TreeNodes, n_features: int) -> None:
    feature_is_known = (nodes.feature >= 0) & (nodes.feature < n_features)
    if not (feature_is_known | (nodes.feature == NO_FEATURE)).all():
        raise ArtifactError("a node splits on a feature that does not exist.")
    if not np.isfinite(nodes.impurity).all():
        raise ArtifactError("an impurity is not a number.")
    weights = nodes.weighted_n_node_samples
    if not (np.isfinite(weights).all() and (weights > 0).all() and (nodes.missing_go_to_left <= 1).all()):
        raise ArtifactError("the weight or the missing-value direction of a node is invalid.")
    if not (nodes.n_node_samples >= 0).all():
        raise ArtifactError("a node has an invalid number of rows.")
