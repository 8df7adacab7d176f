"""Reads artefacts of format 1, which `save` wrote before trees were compact.

    node            0   1   2   3   4
    children_left   1  -1   3  -1  -1     preorder as today, but with both children of each node
    children_right  2  -1   4  -1  -1
    value           one class distribution a node, (node, class): today leaves of several classes alone keep theirs

What is checked here is what the compact form no longer says; the rest is checked as for any other file. The trees are
copies, so such a model is not shared between processes until it is saved anew.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.artifact.state import State
from core.artifact.trees import TREE_OFFSETS, check_distributions, check_offsets
from core.exceptions import ArtifactError
from core.kernels.growth.tree_nodes import LEAF, NO_FEATURE, TreeNodes
from core.registry import ESTIMATORS, estimator_parameters

#: Parameters that the first files lack; those were fitted with the defaults.
_LATER_PARAMETERS = frozenset({"oob_score", "max_leaf_nodes", "splitter", "correction"})
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


def state_of_format_1(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> State:
    """What a file holds, in today's form, still to be checked as that. Raises ArtifactError."""
    kind, params = header.get("kind"), header.get("params")
    if not (isinstance(kind, str) and kind in ESTIMATORS and isinstance(params, dict)):
        raise ArtifactError("the header names no estimator with parameters.")
    later = {p.name: p.default for p in estimator_parameters(kind) if p.name in _LATER_PARAMETERS}
    _check_arrays(arrays)
    trees = tuple(
        _compact({name: arrays[name][first:last] for name in _DTYPES})
        for first, last in pairwise(arrays[TREE_OFFSETS].tolist())
    )
    return State({"oob_score": None, **header, "params": later | params}, trees, [])


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
        raise ArtifactError("a node has an impossible child: the nodes are not in preorder.")
    if not ((nodes["children_right"] == LEAF) == leaf).all():
        raise ArtifactError("a node has an impossible child: it has one only, or is a leaf.")
    n_samples = nodes["n_node_samples"]
    if not ((n_samples >= 0) & (n_samples <= _MOST_SAMPLES)).all():
        raise ArtifactError("a node has an impossible number of rows.")
    check_distributions(nodes["value"])
    link, mixed = nodes["children_right"].copy(), nodes["value"][leaf]
    link[leaf], several = _links(mixed)
    return TreeNodes(
        **{name: nodes[name] for name in _UNCHANGED},
        link=link,
        n_node_samples=n_samples.astype(np.int32),
        mixed=mixed[several],
    )


def _links(of_leaves: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The link of each leaf by its class distribution, and which leaves keep theirs."""
    n_classes = of_leaves.shape[1]
    several = (of_leaves.max(axis=1) != 1) | (np.count_nonzero(of_leaves, axis=1) != 1)
    return np.where(several, n_classes + np.cumsum(several) - 1, of_leaves.argmax(axis=1)), several
