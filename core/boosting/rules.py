"""Rules: small trees whose leaves say a number, and what many of them say about rows."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.growth.tree_structure import Tree
from core.growth.voting import rounded_down
from core.kernels.growth.tree_nodes import NO_FEATURE, TreeNodes
from core.kernels.prediction.packed_trees import NODE_DTYPES, PackedTrees, pack, write_output_nodes
from core.kernels.prediction.traversal import find_leaves


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
    return np.flatnonzero(nodes.feature == NO_FEATURE)


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
    n_inner = sum(len(rule.nodes.feature) - len(of_rule) for rule, of_rule in zip(weighted.rules, votes, strict=True))
    mixed = np.concatenate(votes)
    n_nodes = weighted.n_scores + len(mixed) + n_inner
    packed = PackedTrees(np.empty(n_nodes, NODE_DTYPES[width]), np.empty(len(votes), np.uint32), mixed)
    used, first = write_output_nodes(packed), weighted.n_scores
    for rule, of_rule in zip(weighted.rules, votes, strict=True):
        ballots = np.arange(first, first + len(of_rule))
        used = pack(_with_leaves_apart(rule.nodes, width), ballots, packed, used)
        first += len(of_rule)
    return packed


def _with_leaves_apart(nodes: TreeNodes, width: np.dtype[Any]) -> TreeNodes:
    """The tree for rows of type `width`, each leaf linked to its number: leaves of one class distribution may say
    different things.
    """
    link, leaves = nodes.link.copy(), leaf_numbers(nodes)
    link[leaves] = np.arange(len(leaves))
    return nodes._replace(link=link, threshold=rounded_down(nodes.threshold, width))


def _votes_of(weighted: WeightedRules, j: int) -> NDArray[np.float64]:
    """What each leaf of rule j adds to the scores, (leaf, score)."""
    rule = weighted.rules[j]
    leaves = leaf_numbers(rule.nodes)
    votes = np.zeros((len(leaves), weighted.n_scores), dtype=np.float64)
    votes[:, weighted.columns[j]] = weighted.weights[j] * rule.outputs[leaves]
    return votes
