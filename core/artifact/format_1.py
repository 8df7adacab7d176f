"""Reader of artifacts in format 1, which `save` wrote before trees were stored in compact form.

    node            0   1   2   3   4
    children_left   1  -1   3  -1  -1     preorder as in format 2, but with both children of each node
    children_right  2  -1   4  -1  -1
    value           class distribution of each node, (node, class); the compact form stores those of impure leaves only

This module checks what the compact form cannot express; the rest is checked as for any other file. The trees are
copies, so processes do not share such a model until it is saved again.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.artifact.pieces import check_offsets
from core.artifact.state import EstimatorState
from core.artifact.trees import TREE_OFFSETS, check_distributions
from core.exceptions import ArtifactError
from core.kernels.growth.tree_nodes import LEAF, NO_FEATURE, TreeNodes
from core.registry import ESTIMATORS, estimator_parameters

#: Parameters that the first files lack; those models were fitted with the defaults.
_LATER_PARAMETERS = frozenset({"oob_score", "max_leaf_nodes", "splitter", "correction", "categorical_features"})
_DTYPES = {
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
_UNCHANGED = ("feature", "threshold", "missing_go_to_left", "impurity", "weighted_n_node_samples")
_MOST_SAMPLES = np.iinfo(np.int32).max


def state_of_format_1(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> EstimatorState:
    """Convert the contents of a file to the current form, which the caller still has to check. Raises ArtifactError."""
    kind, params = header.get("kind"), header.get("params")
    if not (isinstance(kind, str) and kind in ESTIMATORS and isinstance(params, dict)):
        raise ArtifactError("the header does not name an estimator and its parameters.")
    later = {p.name: p.default for p in estimator_parameters(kind) if p.name in _LATER_PARAMETERS}
    _check_arrays(arrays)
    trees = tuple(
        _compact({name: arrays[name][first:last] for name in _DTYPES})
        for first, last in pairwise(arrays[TREE_OFFSETS].tolist())
    )
    return EstimatorState({"oob_score": None, **header, "params": later | params}, trees, [])


def _check_arrays(arrays: Mapping[str, NDArray[Any]]) -> None:
    if set(arrays) != {TREE_OFFSETS, *_DTYPES}:
        raise ArtifactError("the arrays are not those of a forest.")
    n_nodes = len(arrays["feature"])
    for name, dtype in _DTYPES.items():
        array = arrays[name]
        if array.dtype != dtype or len(array) != n_nodes or array.ndim != (2 if name == "value" else 1):
            raise ArtifactError(f"array {name!r} has the wrong shape or type.")
    check_offsets(TREE_OFFSETS, arrays[TREE_OFFSETS], n_nodes, np.greater)


def _compact(nodes: Mapping[str, NDArray[Any]]) -> TreeNodes:
    leaf = nodes["feature"] == NO_FEATURE
    following = np.arange(1, len(leaf) + 1)
    if not (np.where(leaf, LEAF, following) == nodes["children_left"]).all():
        raise ArtifactError("a node has an invalid child: the nodes are not in preorder.")
    if not ((nodes["children_right"] == LEAF) == leaf).all():
        raise ArtifactError("a node has an invalid child: an inner node has two children, a leaf has none.")
    n_samples = nodes["n_node_samples"]
    if not ((n_samples >= 0) & (n_samples <= _MOST_SAMPLES)).all():
        raise ArtifactError("a node has an invalid number of rows.")
    check_distributions(nodes["value"])
    link, distributions = nodes["children_right"].copy(), nodes["value"][leaf]
    link[leaf], is_impure = _links(distributions)
    return TreeNodes(
        **{name: nodes[name] for name in _UNCHANGED},
        link=link,
        n_node_samples=n_samples.astype(np.int32),
        impure_distributions=distributions[is_impure],
        category_nodes=np.empty(0, dtype=np.int32),
        category_set_sizes=np.empty(0, dtype=np.int32),
        category_blocks=np.empty(0, dtype=np.uint64),
    )


def _links(leaf_distributions: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the link of each leaf, and whether it keeps a class distribution of its own because it is impure."""
    n_classes = leaf_distributions.shape[1]
    is_impure = (leaf_distributions.max(axis=1) != 1) | (np.count_nonzero(leaf_distributions, axis=1) != 1)
    return np.where(is_impure, n_classes + np.cumsum(is_impure) - 1, leaf_distributions.argmax(axis=1)), is_impure
