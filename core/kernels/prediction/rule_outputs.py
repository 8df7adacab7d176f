"""What many rules say together about many rows, from the leaf of each row in each rule.

leaves    rule 0 | 0 3 3 1 ... |   one byte for a row and a rule: the number of the row's leaf
          rule 1 | 2 2 0 1 ... |
outputs   rule 0 | -1.0 1.0 -1.0 0.2 |   what the rule says in each of its leaves
"""

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel

#: Rows whose sums stay in the cache of first level while the rules come by.
_ROWS_AT_ONCE = 2048


@kernel
def combine_rules(
    leaves: NDArray[np.uint8],
    rules: NDArray[np.int64],
    weighted_outputs: NDArray[np.float64],
    combined: NDArray[np.float64],
) -> None:
    """Fill combined (row,) with the sum over `rules` (k,), numbers of rows of `leaves` (rule, row), of
    weighted_outputs (k, leaf) at each row's leaf, in the order of `rules`.
    """
    combined[:] = 0.0
    for first in range(0, combined.shape[0], _ROWS_AT_ONCE):
        sums, of_rows = combined[first : first + _ROWS_AT_ONCE], leaves[:, first : first + _ROWS_AT_ONCE]
        n_in_fours = rules.shape[0] - rules.shape[0] % 4
        for k in range(0, n_in_fours, 4):
            _add_four(of_rows, rules[k : k + 4], weighted_outputs[k : k + 4], sums)
        for k in range(n_in_fours, rules.shape[0]):
            _add_one(of_rows[rules[k]], weighted_outputs[k], sums)


@inner_kernel
def _add_one(leaf_of_row: NDArray[np.uint8], outputs: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
    for i in range(sums.shape[0]):
        sums[i] += outputs[np.uint64(leaf_of_row[i])]


@inner_kernel
def _add_four(
    leaves: NDArray[np.uint8], rules: NDArray[np.int64], outputs: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    """Four rules at a time: a sum is fetched and stored once for all of them."""
    first, second, third, fourth = leaves[rules[0]], leaves[rules[1]], leaves[rules[2]], leaves[rules[3]]
    of_first, of_second, of_third, of_fourth = outputs[0], outputs[1], outputs[2], outputs[3]
    for i in range(sums.shape[0]):
        total = sums[i] + of_first[np.uint64(first[i])]
        total += of_second[np.uint64(second[i])]
        total += of_third[np.uint64(third[i])]
        sums[i] = total + of_fourth[np.uint64(fourth[i])]
