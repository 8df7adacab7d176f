"""Random number generator with an explicit state array, so that the order of threads cannot change a tree.

SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", figure 17): the state is one
64-bit counter, uint64 (1,), owned by the tree that draws from it.
"""

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_SHIFT_11, _SHIFT_27, _SHIFT_30 = np.uint64(11), np.uint64(27), np.uint64(30)
_SHIFT_31, _SHIFT_32 = np.uint64(31), np.uint64(32)


@inner_kernel
def next_word(state: NDArray[np.uint64]) -> np.uint64:
    """Return the next 64 random bits; advances `state`."""
    state[0] += _STEP
    word = state[0]
    word = (word ^ (word >> _SHIFT_30)) * _MIX_A
    word = (word ^ (word >> _SHIFT_27)) * _MIX_B
    return np.uint64(word ^ (word >> _SHIFT_31))


@inner_kernel
def next_below(state: NDArray[np.uint64], bound: int) -> int:
    """Return a random integer in [0, bound), bound < 2**31; the bias of the multiplication is below 2**-32 * bound."""
    return int(np.int64(((next_word(state) >> _SHIFT_32) * np.uint64(bound)) >> _SHIFT_32))


@inner_kernel
def next_unit(state: NDArray[np.uint64]) -> float:
    """Return a random number in [0, 1), a multiple of 2**-53."""
    return float(np.int64(next_word(state) >> _SHIFT_11)) * 2.0**-53


@kernel
def bootstrap_counts(state: NDArray[np.uint64], n_rows: int) -> NDArray[np.float64]:
    """Return the number of times that each row occurs in a bootstrap sample, float64 (n_rows,).

    The sample consists of `n_rows` rows drawn with replacement.
    """
    counts = np.zeros(n_rows, dtype=np.float64)
    for _ in range(n_rows):
        counts[next_below(state, n_rows)] += 1.0
    return counts
