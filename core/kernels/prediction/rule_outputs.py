"""Weighted sums of the outputs of many rules for many rows, from the leaf of each row in each rule.

leaves    rule 0 | 0 3 3 1 ... |   one byte per row and rule: the number of the row's leaf
          rule 1 | 2 2 0 1 ... |
outputs   rule 0 | -1.0 1.0 -1.0 0.2 |   the output of the rule in each of its leaves
"""

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel

#: Rows per block, whose sums stay in the L1 cache for all rules.
_ROWS_PER_BLOCK = 2048


@kernel
def combine_rules(
    leaves: NDArray[np.uint8],
    rules: NDArray[np.int64],
    weighted_outputs: NDArray[np.float64],
    combined: NDArray[np.float64],
) -> None:
    """Fill combined (row,) with the weighted sum of the outputs of `rules` (k,).

    `rules` are row numbers of `leaves` (rule, row); weighted_outputs (k, leaf) holds the summands of each rule's
    leaves. Sums run in the order of `rules`.
    """
    combined[:] = 0.0
    for first in range(0, combined.shape[0], _ROWS_PER_BLOCK):
        sums, block_leaves = combined[first : first + _ROWS_PER_BLOCK], leaves[:, first : first + _ROWS_PER_BLOCK]
        n_blocked = rules.shape[0] - rules.shape[0] % 4
        for k in range(0, n_blocked, 4):
            _add_four(block_leaves, rules[k : k + 4], weighted_outputs[k : k + 4], sums)
        for k in range(n_blocked, rules.shape[0]):
            _add_one(block_leaves[rules[k]], weighted_outputs[k], sums)


@inner_kernel
def _add_one(leaf_of_row: NDArray[np.uint8], outputs: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
    """Add the outputs (leaf,) of one rule to sums (row,)."""
    for i in range(sums.shape[0]):
        sums[i] += outputs[np.uint64(leaf_of_row[i])]


@inner_kernel
def _add_four(
    leaves: NDArray[np.uint8], rules: NDArray[np.int64], outputs: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    """Add four rules at a time, so that each sum is loaded and stored once for all of them."""
    first, second, third, fourth = leaves[rules[0]], leaves[rules[1]], leaves[rules[2]], leaves[rules[3]]
    first_outputs, second_outputs, third_outputs, fourth_outputs = outputs[0], outputs[1], outputs[2], outputs[3]
    for i in range(sums.shape[0]):
        total = sums[i] + first_outputs[np.uint64(first[i])]
        total += second_outputs[np.uint64(second[i])]
        total += third_outputs[np.uint64(third[i])]
        sums[i] = total + fourth_outputs[np.uint64(fourth[i])]
