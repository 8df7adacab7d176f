"""What the rules of a fit say about its training rows, kept as compactly as rules allow.

leaves    (rule, row)   uint8: the leaf of each row, one byte for a row and a round
outputs   (rule, leaf)  float64: what the rule says in each of its leaves
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.prediction.rule_outputs import combine_rules

#: Most leaves of a rule: their numbers fit a byte.
MOST_LEAVES = 256
#: Rules that room is made for at once; most fits end before.
_MOST_EXPECTED = 256


class RuleTable:
    """The outputs of rules of up to `n_leaves` leaves on `n_rows` rows; `n_rules` is how many to expect. What is not
    filled yet costs no memory.
    """

    def __init__(self, n_rules: int, n_rows: int, n_leaves: int) -> None:
        room = max(min(n_rules, _MOST_EXPECTED), 1)
        self._leaves = np.empty((room, n_rows), dtype=np.uint8)
        self._outputs = np.zeros((room, n_leaves), dtype=np.float64)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, leaves: NDArray[np.uint8], outputs: NDArray[np.float64]) -> None:
        """Append a rule: leaves (row,) and outputs (leaf,)."""
        if self._size == len(self._leaves):
            self._leaves, self._outputs = _twice_as_long(self._leaves), _twice_as_long(self._outputs)
        self._leaves[self._size] = leaves
        self._outputs[self._size, : len(outputs)] = outputs
        self._size += 1

    @property
    def leaves(self) -> NDArray[np.uint8]:
        """The leaf of each row in each rule, (rule, row), until the next is added; meaningful as far as rules were."""
        return self._leaves

    @property
    def leaf_outputs(self) -> NDArray[np.float64]:
        """What each rule says in its leaves, (rule, leaf)."""
        return self._outputs

    def is_like(self, rule: int, leaves: NDArray[np.uint8], outputs: NDArray[np.float64]) -> bool:
        """Whether a rule has these leaves (row,) and outputs (leaf,)."""
        same_outputs = np.array_equal(self._outputs[rule, : len(outputs)], outputs)
        return same_outputs and np.array_equal(self._leaves[rule], leaves)

    def outputs_of(self, rule: int) -> NDArray[np.float64]:
        """What one rule says about each row, (row,)."""
        outputs: NDArray[np.float64] = self._outputs[rule][self._leaves[rule]]
        return outputs

    def outputs_at(self, rules: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """What `rules` say about some rows, (row, rule)."""
        outputs: NDArray[np.float64] = self._outputs[rules[np.newaxis, :], self._leaves[np.ix_(rules, rows)].T]
        return outputs

    def average(self, row_weights: NDArray[np.float64], rule: int) -> float:
        """Sum over rows of row_weights (row,), of either sign, times what the rule says."""
        return average_output(self._leaves[rule], self._outputs[rule], row_weights)

    def combine(self, rules: NDArray[np.int64], weights: NDArray[np.float64], combined: NDArray[np.float64]) -> None:
        """Fill combined (row,) with the weighted sum of what `rules` say; weights (len(rules),)."""
        used = np.flatnonzero(weights)
        combine_rules(self._leaves, rules[used], self._outputs[rules[used]] * weights[used, np.newaxis], combined)


def _twice_as_long(table: NDArray[Any]) -> NDArray[Any]:
    longer = np.zeros((2 * len(table), table.shape[1]), dtype=table.dtype)
    longer[: len(table)] = table
    return longer


def average_output(leaves: NDArray[np.uint8], outputs: NDArray[np.float64], row_weights: NDArray[np.float64]) -> float:
    """Sum over rows of row_weights (row,) times the output (leaf,) of each row's leaf (row,)."""
    per_leaf = np.bincount(leaves, weights=row_weights, minlength=len(outputs))
    return float(per_leaf @ outputs)
