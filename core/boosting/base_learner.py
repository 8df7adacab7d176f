"""Base learner of all boosters: one small tree per round, on bins that are computed once.

Growth leaves the rows sorted by leaf, so the leaf of every training row is known without a traversal:

    rows    | 4 0 7 | 1 2 | 3 5 6 |
    leaf      0       1     2
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.boosting.rules import Rule, leaf_nodes
from core.growth.growing import grow_on_rows
from core.growth.growth_problem import GrowthProblem
from core.growth.tree_structure import rescale_node_weights
from core.kernels.criteria.catalog import Criterion
from core.kernels.growth.partition import TreeRows
from core.kernels.growth.tree_nodes import TreeNodes
from core.kernels.prediction.traversal import find_leaves
from core.monitoring import Progress

_NEGATIVE, _POSITIVE = 0, 1
#: Rows with less than this share of the weight are left out of growth: they would vanish in the rounding of sums.
_NEGLIGIBLE_SHARE = 1e-12


class GrownRule(NamedTuple):
    """Tree of a round, and two sums over its training rows in each leaf: `sums` of the weights times the labels -1 and
    1, and `totals` of the weights.
    """

    nodes: TreeNodes
    leaves: NDArray[np.uint8]  # (row,): number of the row's leaf, from left to right
    sums: NDArray[np.float64]  # (leaf,)
    totals: NDArray[np.float64]  # (leaf,)

    def rule(self, outputs: NDArray[np.float64]) -> Rule:
        """Return the rule with the leaf outputs `outputs` (leaf,)."""
        per_node = np.zeros(len(self.nodes.feature), dtype=np.float64)
        per_node[leaf_nodes(self.nodes)] = outputs
        return Rule(self.nodes, per_node)

    def labels(self) -> NDArray[np.float64]:
        """Return the label with the larger weight in each leaf, -1 or 1, and -1 for ties. (leaf,)"""
        return np.where(self.sums > 0, 1.0, -1.0)

    def confidences(self) -> NDArray[np.float64]:
        """Return the mean label of each leaf, in [-1, 1], which minimizes the weighted squared error. (leaf,)"""
        return np.clip(self.sums / self.totals, -1.0, 1.0)


class BaseLearner:
    """Base learner that grows trees on the same rows with changing labels and weights.

    `X` (row, feature) are the rows that were binned. `states` provides the random state of each tree.
    """

    def __init__(
        self,
        X: NDArray[Any],
        problem: GrowthProblem,
        criterion: Criterion,
        states: Iterator[NDArray[np.uint64]],
        progress: Progress,
    ) -> None:
        self._X = X
        self._problem = problem
        self._criterion = criterion
        self._states = states
        self._progress = progress
        self._last: TreeNodes | None = None

    def grow(self, signed_weights: NDArray[np.float64], replaces_last: bool = False) -> GrownRule:
        """Grow a tree on rows with the label sign(signed_weights) and the weight |signed_weights|.

        A tree that replaces the last one does not count as progress. Raises FitStopped.
        """
        weights = np.abs(signed_weights)
        rows = np.flatnonzero(weights > _NEGLIGIBLE_SHARE * weights.sum()).astype(np.uint32)
        unit = _weight_unit(float(weights.max()))
        tree_rows = TreeRows(rows, (signed_weights[rows] > 0).astype(np.uint16), weights[rows] / unit)
        return self._grown(tree_rows, unit, n_copies=1, is_new=not replaces_last, rows_per_weight=None)

    def grow_on_fractions(self, positive: NDArray[np.float64], negative: NDArray[np.float64]) -> GrownRule:
        """Grow a tree on rows that each count as label 1 with weight `positive` and as label -1 with weight `negative`,
        both (row,) and positive.

        Under the Gini impurity the splits are those of least squares on the targets
        (positive - negative) / (positive + negative) with weights positive + negative.
        """
        both = positive + negative
        once = np.flatnonzero(both > _NEGLIGIBLE_SHARE * both.sum()).astype(np.uint32)
        rows = np.tile(once, 2)
        labels = np.repeat(np.array([_POSITIVE, _NEGATIVE], dtype=np.uint16), len(once))
        weights = np.concatenate([positive[once], negative[once]])
        unit = _weight_unit(float(weights.max()))
        evidence = _rows_per_weight(positive[once] / unit, negative[once] / unit)
        return self._grown(
            TreeRows(rows, labels, weights / unit), unit, n_copies=2, is_new=True, rows_per_weight=evidence
        )

    def zero_rule(self) -> Rule:
        """Return a rule with the last tree and outputs of zero."""
        assert self._last is not None
        return Rule(self._last, np.zeros(len(self._last.feature), dtype=np.float64))

    def _grown(
        self, tree_rows: TreeRows, unit: float, n_copies: int, is_new: bool, rows_per_weight: float | None
    ) -> GrownRule:
        nodes = grow_on_rows(
            self._problem, tree_rows, self._criterion, next(self._states), self._progress, rows_per_weight
        )
        if is_new:
            self._progress.advance()
        leaves = leaf_nodes(nodes)
        firsts = np.concatenate([[0], np.cumsum(nodes.n_node_samples[leaves])[:-1]])
        signed = np.where(tree_rows.labels == _POSITIVE, tree_rows.weights, -tree_rows.weights)
        sums = unit * np.add.reduceat(signed, firsts)
        totals = unit * np.add.reduceat(tree_rows.weights, firsts)
        leaf_of_row = self._leaf_of_row(nodes, leaves, tree_rows.rows)
        nodes.n_node_samples[:] //= n_copies
        rescale_node_weights((nodes,), unit)
        self._last = nodes
        return GrownRule(nodes, leaf_of_row, sums, totals)

    def _leaf_of_row(self, nodes: TreeNodes, leaves: NDArray[np.int64], rows: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """Return the leaf of each row. Rows left out of growth are passed down the tree."""
        leaf_of_row = np.empty(len(self._X), dtype=np.uint8)
        others = np.ones(len(self._X), dtype=bool)
        others[rows] = False
        if others.any():
            at_nodes = np.empty(int(others.sum()), dtype=np.int32)
            find_leaves(np.array(self._X[others], order="C"), nodes, at_nodes)
            leaf_of_row[others] = np.searchsorted(leaves, at_nodes)
        leaf_of_row[rows] = np.repeat(np.arange(len(leaves), dtype=np.uint8), nodes.n_node_samples[leaves])
        return leaf_of_row


def _rows_per_weight(positive: NDArray[np.float64], negative: NDArray[np.float64]) -> float:
    """Return how many rows with one label each tell as much as one unit of weight of rows that have both labels.

    The shares of label 1 vary less between such rows than between rows with one label: by the mean of their squared
    deviations, instead of p (1 - p) for a mean share p.
    """
    both = positive + negative
    mean = positive.sum() / both.sum()
    variance = np.sum(np.square(positive - mean * both))
    return float(mean * (1 - mean) * both.sum() / variance) if variance > 0 else 1.0


def _weight_unit(largest: float) -> float:
    """Return the largest power of two that does not exceed `largest`. Dividing weights by it is exact."""
    return float(np.ldexp(1.0, np.frexp(largest)[1] - 1))


def resample(signed_weights: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    """Return how often each row is drawn, in as many draws as there are rows, with the sign of its weight.

    The probability of a row is proportional to the absolute value of its weight.
    """
    weights = np.abs(signed_weights)
    counts = generator.multinomial(len(weights), weights / weights.sum())
    return np.copysign(counts.astype(np.float64), signed_weights)
