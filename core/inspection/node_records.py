"""Nodes of one tree of a fitted classifier, as plain values."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.boosting.boosted_classifier import BoostedClassifier
from core.exceptions import InvalidParameter
from core.growth.tree_structure import Tree
from core.kernels.growth.tree_nodes import LEAF
from core.registry import AnyClassifier


class SplitRecord(NamedTuple):
    """Split of an inner node: values up to the threshold go left, or else the categories to the side of `is_left`.

    threshold: None if the split is one of categories, or if all present values go left and missing values right.
    categories: values in X of the categories that go to one side, None unless the split is one of categories; all
    other categories go where missing values go.
    """

    feature: int
    threshold: float | None
    categories: tuple[int, ...] | None
    categories_go_left: bool | None
    missing_go_left: bool
    left: int
    right: int


class NodeRecord(NamedTuple):
    """Node with the training rows in it.

    distribution: weighted share of each class, (class,); for the rules of a booster, of the other classes and of the
    class of the rule. output: that of a leaf of a rule, else None.
    """

    number: int
    parent: int | None
    depth: int
    split: SplitRecord | None
    n_rows: int
    weight: float
    impurity: float
    distribution: list[float]
    output: float | None


class InspectedTree:
    """One tree of a fitted classifier. Raises InvalidParameter for a number that no tree has.

    rule_weight: weight of the rule in the score of its class, and scored_class: number of this class; None for trees
    and forests.
    """

    def __init__(self, classifier: AnyClassifier, number: int) -> None:
        if not 0 <= number < len(classifier.trees_):
            raise InvalidParameter(f"number is {number}; it must be from 0 to {len(classifier.trees_) - 1}.")
        correction = getattr(classifier, "correction_", None)
        self._tree = Tree(
            classifier.trees_[number],
            classifier.n_features_in_,
            None if correction is None else correction.values,
            classifier.n_categories_,
        )
        self._category_values = classifier.category_values_
        self._outputs: NDArray[np.float64] | None = None
        self.rule_weight: float | None = None
        self.scored_class: int | None = None
        if isinstance(classifier, BoostedClassifier):
            rules = classifier.weighted_rules_
            self._outputs = rules.rules[number].outputs
            self.rule_weight = float(rules.weights[number])
            # With two classes there is one score, that of the second class.
            self.scored_class = 1 if rules.n_scores == 1 else int(rules.columns[number])
        self.n_nodes, self.n_leaves = self._tree.node_count, self._tree.n_leaves
        self._parents, self._depths = _parents_and_depths(self._tree)
        self.depth = int(self._depths.max())

    def nodes(self, start: int) -> Iterator[NodeRecord]:
        """Yield the nodes from number `start` on; a parent comes before its children, and node 0 is the root."""
        return map(self._node, range(start, self.n_nodes))

    def _node(self, number: int) -> NodeRecord:
        is_leaf = self._tree.children_left[number] == LEAF
        return NodeRecord(
            number=number,
            parent=None if number == 0 else int(self._parents[number]),
            depth=int(self._depths[number]),
            split=None if is_leaf else self._split(number),
            n_rows=int(self._tree.n_node_samples[number]),
            weight=float(self._tree.weighted_n_node_samples[number]),
            impurity=float(self._tree.impurity[number]),
            distribution=self._tree.value[number, 0].tolist(),
            output=float(self._outputs[number]) if is_leaf and self._outputs is not None else None,
        )

    def _split(self, node: int) -> SplitRecord:
        tree, threshold = self._tree, float(self._tree.threshold[node])
        is_categorical, missing_go_left = math.isnan(threshold), bool(tree.missing_go_to_left[node])
        feature = int(tree.feature[node])
        return SplitRecord(
            feature=feature,
            threshold=threshold if math.isfinite(threshold) else None,
            categories=self._categories(node, feature) if is_categorical else None,
            categories_go_left=not missing_go_left if is_categorical else None,
            missing_go_left=missing_go_left,
            left=int(tree.children_left[node]),
            right=int(tree.children_right[node]),
        )

    def _categories(self, node: int, feature: int) -> tuple[int, ...]:
        """Return the values in X of the categories that go to the other side than missing values."""
        codes = self._tree.category_set(node)
        values = self._category_values[feature] if feature < len(self._category_values) else None
        return tuple(codes.tolist() if values is None else values[codes].astype(np.int64).tolist())


def _parents_and_depths(tree: Tree) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the parent of each node, (node,), and the number of edges from the root to it, (node,)."""
    parents, depths = np.zeros((2, tree.node_count), dtype=np.int64)
    inner = np.flatnonzero(tree.children_left != LEAF)
    parents[tree.children_left[inner]] = inner
    parents[tree.children_right[inner]] = inner
    for node in range(1, tree.node_count):  # in one pass, as parents precede their children
        depths[node] = depths[parents[node]] + 1
    return parents, depths
