"""Rules: small trees whose leaves say a number, and what many of them say about rows."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.packed_trees import NODE_DTYPES, PackedTrees, Used, count_mixed, pack
from core.kernels.traversal import find_leaves
from core.kernels.tree_nodes import LEAF, TreeNodes
from core.tree_structure import Tree
from core.voting import rounded_down


class Rule(NamedTuple):
    """A tree, and what it says at each of its nodes, (node,); only leaves are ever asked."""

    nodes: TreeNodes
    outputs: NDArray[np.float64]


Rules = tuple[Rule, ...]


class WeightedRules(NamedTuple):
    """The sum of rules that an estimator is: rule j adds weights[j] times what it says to the score number columns[j].

    There is one score with two classes, that of the second; with more, one score a class.
    """

    rules: Rules
    weights: NDArray[np.float64]  # (rule,)
    columns: NDArray[np.int64]  # (rule,)
    n_scores: int


def leaf_numbers(nodes: TreeNodes) -> NDArray[np.int64]:
    """The nodes that are leaves, from left to right."""
    return np.flatnonzero(nodes.children_left == LEAF)


def outputs_of(rules: Sequence[Rule], X: NDArray[Any]) -> NDArray[np.float64]:
    """What each rule says about each row of X, (row, rule)."""
    rows = np.array(X, order="C")
    outputs = np.empty((len(rows), len(rules)), dtype=np.float64)
    leaves = np.empty(len(rows), dtype=np.int32)
    for j, rule in enumerate(rules):
        find_leaves(rows, rule.nodes, leaves)
        outputs[:, j] = rule.outputs[leaves]
    return outputs


def importances_of(weighted: WeightedRules, n_features: int) -> NDArray[np.float64]:
    """Each feature's share of the impurity decrease of the rules, weighted by how much the rules count."""
    total = np.zeros(n_features, dtype=np.float64)
    for rule, weight in zip(weighted.rules, weighted.weights, strict=True):
        total += abs(weight) * Tree(rule.nodes, n_features).compute_feature_importances()
    return total / total.sum() if total.sum() > 0 else total


def packed_rules(weighted: WeightedRules, width: np.dtype[Any]) -> PackedTrees:
    """The prediction layout of the rules: what a leaf votes is what it adds to the scores."""
    votes = [_votes_of(weighted, j) for j in range(len(weighted.rules))]
    trees = [rule.nodes for rule in weighted.rules]
    n_inner = sum(int(np.count_nonzero(nodes.children_left != LEAF)) for nodes in trees)
    n_mixed = sum(count_mixed(nodes.children_left, vote) for nodes, vote in zip(trees, votes, strict=True))
    packed = PackedTrees(
        np.empty(n_inner, NODE_DTYPES[width]), np.empty(len(trees), np.int32), np.empty((n_mixed, weighted.n_scores))
    )
    used = Used(0, 0, 0)
    for nodes, vote in zip(trees, votes, strict=True):
        used = pack(nodes._replace(threshold=rounded_down(nodes.threshold, width)), vote, packed, used)
    return packed


def _votes_of(weighted: WeightedRules, j: int) -> NDArray[np.float64]:
    """What each node of rule j adds to the scores, (node, score)."""
    outputs = weighted.rules[j].outputs
    votes = np.zeros((len(outputs), weighted.n_scores), dtype=np.float64)
    votes[:, weighted.columns[j]] = weighted.weights[j] * outputs
    return votes
