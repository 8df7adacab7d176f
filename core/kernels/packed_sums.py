"""Class weights of many rows summed at once: each class has some bits of one word, and whole words are added.

    word:  [ ... | class 2 | class 1 | class 0 ]     n_bits each

Where the weights of a node are whole numbers, a row is its weight shifted to its class, and so many rows as surely fit
are summed with neither a table nor an order: the compiler turns that into vector code.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inlined_kernel, inner_kernel
from core.kernels.node_codes import mark_up_to
from core.kernels.sides import ClassWeights

_WORD_BITS = 64
_MOST_BITS = 32  #: more would leave float64 less than whole numbers to add up
#: With fewer rows to a sum, taking the words apart costs more than it saves.
FEWEST_ROWS = 16


@inner_kernel
def pack_weights(
    classes: NDArray[np.uint16], weights: NDArray[np.float64], n_classes: int, packed: NDArray[np.uint64]
) -> int:
    """Fill `packed` (n_node,) with one word a row; returns how many rows fit one sum, 0 where weights are not whole."""
    n_bits = np.uint64(bits_of_class(n_classes))
    largest, n_broken = np.uint64(0), 0
    for i in range(classes.shape[0]):
        whole = np.uint64(weights[i])
        packed[i] = whole << (n_bits * np.uint64(classes[i]))
        largest = max(largest, whole)
        n_broken += int(float(whole) != weights[i])
    if n_broken > 0:
        return 0
    n_fitting = int((np.uint64(1) << n_bits) // largest) - 1
    return n_fitting if n_fitting >= FEWEST_ROWS else 0


@inner_kernel
def bits_of_class(n_classes: int) -> int:
    """How much of the word one class has."""
    return min(_WORD_BITS // n_classes, _MOST_BITS)


@inner_kernel
def _sum_block(packed: NDArray[np.uint64], taken: NDArray[np.uint8]) -> np.uint64:
    total = np.uint64(0)
    for i in range(packed.shape[0]):
        total += packed[i] & (np.uint64(0) - np.uint64(taken[i]))
    return total


@inlined_kernel
def sum_up_to(
    codes: NDArray[Any],
    packed: NDArray[np.uint64],
    n_rows: int,
    n_fitting: int,
    last_code: int,
    also: int,
    taken: NDArray[np.uint8],
    class_weights: ClassWeights,
) -> int:
    """Fill class_weights (class,) with those of the rows whose code is at most `last_code`, or is `also`; returns their
    number. `taken` (n_rows,) is a workspace.
    """
    n_bits = bits_of_class(class_weights.shape[0])
    lane = (np.uint64(1) << np.uint64(n_bits)) - np.uint64(1)
    n_taken = mark_up_to(codes, n_rows, last_code, also, taken)
    class_weights[:] = 0.0
    for start in range(0, n_rows, n_fitting):
        stop = min(start + n_fitting, n_rows)
        total = _sum_block(packed[start:stop], taken[start:stop])
        for k in range(class_weights.shape[0]):
            class_weights[k] += float(np.int64((total >> np.uint64(n_bits * k)) & lane))
    return n_taken
