"""What many rules say together about many rows, from the leaf of each row in each rule.

leaves    rule 0 | 0 3 3 1 ... |   one byte for a row and a rule: the number of the row's leaf
          rule 1 | 2 2 0 1 ... |
outputs   rule 0 | -1.0 1.0 -1.0 0.2 |   what the rule says in each of its leaves
"""

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import kernel

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
        sums = combined[first : first + _ROWS_AT_ONCE]
        for k in range(rules.shape[0]):
            leaf_of_row = leaves[rules[k], first : first + _ROWS_AT_ONCE]
            outputs = weighted_outputs[k]
            for i in range(sums.shape[0]):
                sums[i] += outputs[np.uint64(leaf_of_row[i])]
