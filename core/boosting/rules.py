"""Rules: small trees with one output per leaf, and weighted sums of rules."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.growth.tree_structure import Tree
from core.growth.voting import make_layout
from core.kernels.growth.tree_nodes import NO_FEATURE, TreeNodes
from core.kernels.prediction.packed_trees import Layout
from core.kernels.prediction.traversal import find_leaves


class Rule(NamedTuple):
    """Tree with an output for each node, (node,). Only the outputs of leaves are used."""

    nodes: TreeNodes
    outputs: NDArray[np.float64]


Rules = tuple[Rule, ...]


class WeightedRules(NamedTuple):
    """Weighted sum of rules: rule j adds weights[j] times its output to the score number columns[j].

    With two classes there is one score, that of the second class; with more there is one score per class.
    """

    rules: Rules
    weights: NDArray[np.float64]  # (rule,)
    columns: NDArray[np.int64]  # (rule,)
    n_scores: int


def leaf_nodes(nodes: TreeNodes) -> NDArray[np.int64]:
    """Return the numbers of the leaf nodes, from left to right."""
    return np.flatnonzero(nodes.feature == NO_FEATURE)


def compute_outputs(rules: Sequence[Rule], X: NDArray[Any]) -> NDArray[np.float64]:
    """Return the output of each rule for each row of X, (row, rule)."""
    rows = np.array(X, order="C")
    outputs = np.empty((len(rows), len(rules)), dtype=np.float64)
    leaves = np.empty(len(rows), dtype=np.int32)
    for j, rule in enumerate(rules):
        find_leaves(rows, rule.nodes, leaves)
        outputs[:, j] = rule.outputs[leaves]
    return outputs


def feature_importances(weighted: WeightedRules, n_features: int) -> NDArray[np.float64]:
    """Return the share of each feature in the impurity decrease of the rules, weighted by the rules' weights."""
    total = np.zeros(n_features, dtype=np.float64)
    for rule, weight in zip(weighted.rules, weighted.weights, strict=True):
        total += abs(weight) * Tree(rule.nodes, n_features).compute_feature_importances()
    return total / total.sum() if total.sum() > 0 else total


def pack_rules(weighted: WeightedRules, width: np.dtype[Any]) -> Layout:
    """Return the rules in the layout for prediction. The vote of a leaf is its contribution to the scores."""
    scores = [_leaf_scores(weighted, j) for j in range(len(weighted.rules))]
    leaf_outputs = np.concatenate(scores)
    ends = weighted.n_scores + np.cumsum([len(one) for one in scores])
    numbers = [np.arange(end - len(one), end) for end, one in zip(ends.tolist(), scores, strict=True)]
    return make_layout(
        tuple(_with_separate_leaves(rule.nodes) for rule in weighted.rules), numbers, leaf_outputs, width
    )


def _with_separate_leaves(nodes: TreeNodes) -> TreeNodes:
    """Return the tree with each leaf linked to its own number, because leaves with the same class distribution may have
    different outputs.
    """
    link, leaves = nodes.link.copy(), leaf_nodes(nodes)
    link[leaves] = np.arange(len(leaves))
    return nodes._replace(link=link)


def _leaf_scores(weighted: WeightedRules, j: int) -> NDArray[np.float64]:
    """Return the contribution of each leaf of rule j to the scores, (leaf, score)."""
    rule = weighted.rules[j]
    leaves = leaf_nodes(rule.nodes)
    scores = np.zeros((len(leaves), weighted.n_scores), dtype=np.float64)
    scores[:, weighted.columns[j]] = weighted.weights[j] * rule.outputs[leaves]
    return scores
