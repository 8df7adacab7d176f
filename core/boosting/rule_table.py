"""Compact table of the outputs of a fit's rules on its training rows.

leaves    (rule, row)   uint8: the leaf of each row, one byte per row and rule
outputs   (rule, leaf)  float64: the output of the rule in each of its leaves
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.prediction.rule_outputs import combine_rules

#: Limit on the leaves of a rule, so that leaf numbers fit into one byte.
MAX_LEAVES = 256
#: Limit on the initial capacity; most fits end with fewer rules.
_MAX_INITIAL_RULES = 256


class RuleTable:
    """Outputs of rules with up to `n_leaves` leaves on `n_rows` rows. `n_rules` is the expected number of rules; unused
    capacity costs no memory until it is written to.
    """

    def __init__(self, n_rules: int, n_rows: int, n_leaves: int) -> None:
        capacity = max(min(n_rules, _MAX_INITIAL_RULES), 1)
        self._leaves = np.empty((capacity, n_rows), dtype=np.uint8)
        self._outputs = np.zeros((capacity, n_leaves), dtype=np.float64)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, leaves: NDArray[np.uint8], outputs: NDArray[np.float64]) -> None:
        """Append a rule with the given leaves (row,) and outputs (leaf,)."""
        if self._size == len(self._leaves):
            self._leaves, self._outputs = _doubled(self._leaves), _doubled(self._outputs)
        self._leaves[self._size] = leaves
        self._outputs[self._size, : len(outputs)] = outputs
        self._size += 1

    @property
    def leaves(self) -> NDArray[np.uint8]:
        """Leaf of each row in each rule, (rule, row). Valid until the next rule is added; rows beyond the number of
        rules are unspecified.
        """
        return self._leaves

    @property
    def leaf_outputs(self) -> NDArray[np.float64]:
        """Output of each rule in its leaves, (rule, leaf)."""
        return self._outputs

    def has_rule(self, rule: int, leaves: NDArray[np.uint8], outputs: NDArray[np.float64]) -> bool:
        """Return whether a rule has these leaves (row,) and outputs (leaf,)."""
        same_outputs = np.array_equal(self._outputs[rule, : len(outputs)], outputs)
        return same_outputs and np.array_equal(self._leaves[rule], leaves)

    def row_outputs(self, rule: int) -> NDArray[np.float64]:
        """Return the output of one rule for each row, (row,)."""
        outputs: NDArray[np.float64] = self._outputs[rule][self._leaves[rule]]
        return outputs

    def outputs_at(self, rules: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the outputs of `rules` for some rows, (row, rule)."""
        outputs: NDArray[np.float64] = self._outputs[rules[np.newaxis, :], self._leaves[np.ix_(rules, rows)].T]
        return outputs

    def weighted_sum(self, row_weights: NDArray[np.float64], rule: int) -> float:
        """Return the sum over rows of row_weights (row,), of either sign, times the output of the rule."""
        return weighted_output_sum(self._leaves[rule], self._outputs[rule], row_weights)

    def combine(self, rules: NDArray[np.int64], weights: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
        """Fill `sums` (row,) with the weighted sum of the outputs of `rules`; weights (len(rules),)."""
        used = np.flatnonzero(weights)
        combine_rules(self._leaves, rules[used], self._outputs[rules[used]] * weights[used, np.newaxis], sums)


def _doubled(table: NDArray[Any]) -> NDArray[Any]:
    longer = np.zeros((2 * len(table), table.shape[1]), dtype=table.dtype)
    longer[: len(table)] = table
    return longer


def weighted_output_sum(
    leaves: NDArray[np.uint8], outputs: NDArray[np.float64], row_weights: NDArray[np.float64]
) -> float:
    """Return the sum over rows of row_weights (row,) times the output (leaf,) of each row's leaf (row,)."""
    per_leaf = np.bincount(leaves, weights=row_weights, minlength=len(outputs))
    return float(per_leaf @ outputs)
