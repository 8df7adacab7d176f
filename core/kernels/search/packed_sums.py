"""Class weights of many rows summed at once: each class has some bits of one word, and whole words are added.

    word:  [ ... | class 2 | class 1 | class 0 ]     n_bits each

Where weights are whole numbers, a row is its weight shifted to its class, and so many rows as surely fit are summed
with neither a table nor an order: the compiler turns that into vector code. The words of a whole tree move with its
rows; where they do not fit, nodes of few classes may still have words of their own.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.sides import ClassWeights
from core.kernels.jit import inlined_kernel, inner_kernel

_WORD_BITS = 64
_MOST_BITS = 32  #: more would leave float64 less than whole numbers to add up
#: With fewer rows to a sum, taking the words apart costs more than it saves.
FEWEST_ROWS = 16


class PackedRows(NamedTuple):
    """One word for each row of a tree or a node."""

    words: NDArray[np.uint64]  # (row,)
    lanes: NDArray[np.int64]  # (class asked for,), where the class lies in the word
    n_fitting: int  # so many rows surely fit one sum; 0: nothing is packed
    n_bits: int  # of a class


@inner_kernel
def pack_weights(
    classes: NDArray[np.uint16], weights: NDArray[np.float64], n_classes: int, words: NDArray[np.uint64]
) -> int:
    """Fill `words` (row,); returns how many rows fit one sum, 0 where weights are not whole."""
    n_bits = np.uint64(bits_of_class(n_classes))
    largest, n_broken = np.uint64(0), 0
    for i in range(classes.shape[0]):
        whole = np.uint64(weights[i])
        words[i] = whole << (n_bits * np.uint64(classes[i]))
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


@inlined_kernel
def packed_rows(
    classes: NDArray[np.uint16],
    weights: NDArray[np.float64],
    words: NDArray[np.uint64],
    lanes: NDArray[np.int64],
    is_wanted: bool,
) -> PackedRows:
    """The rows packed into `words` (row or more,) if that is wanted and they fit; `lanes` are 0, 1, ... For kernels
    only: no references are counted to the views in what it returns.
    """
    n_rows, n_classes, n_fitting = classes.shape[0], lanes.shape[0], 0
    if is_wanted:
        n_fitting = pack_weights(classes, weights, n_classes, words)
    return PackedRows(words[:n_rows], lanes, n_fitting, bits_of_class(n_classes))


@inner_kernel
def _add_lanes(total: np.uint64, packed: PackedRows, class_weights: ClassWeights) -> None:
    lane = (np.uint64(1) << np.uint64(packed.n_bits)) - np.uint64(1)
    for k in range(packed.lanes.shape[0]):
        class_weights[k] += float(np.int64((total >> np.uint64(packed.n_bits * packed.lanes[k])) & lane))


@inner_kernel
def _sum_block(words: NDArray[np.uint64], start: int, stop: int) -> np.uint64:
    first, total = np.uint64(start), np.uint64(0)
    for i in range(np.uint64(stop - start)):
        total += words[first + i]
    return total


@inlined_kernel
def sum_words(packed: PackedRows, class_weights: ClassWeights) -> None:
    """Fill class_weights (class asked for,)."""
    n_rows, start = packed.words.shape[0], 0
    class_weights[:] = 0.0
    while start < n_rows:
        stop = min(start + packed.n_fitting, n_rows)
        _add_lanes(_sum_block(packed.words, start, stop), packed, class_weights)
        start = stop


@inner_kernel
def _sum_block_up_to(
    codes: NDArray[Any], words: NDArray[np.uint64], start: int, stop: int, last_code: int, also: int
) -> np.uint64:
    last, other = codes.dtype.type(last_code), codes.dtype.type(also)
    first, total = np.uint64(start), np.uint64(0)
    for i in range(np.uint64(stop - start)):
        is_taken = np.uint64(codes[first + i] <= last) | np.uint64(codes[first + i] == other)
        total += words[first + i] & (np.uint64(0) - is_taken)
    return total


@inlined_kernel
def sum_up_to(codes: NDArray[Any], packed: PackedRows, last_code: int, also: int, class_weights: ClassWeights) -> None:
    """Fill class_weights (class asked for,) with those of the rows whose code is at most `last_code`, or is `also`."""
    n_rows, start = packed.words.shape[0], 0
    class_weights[:] = 0.0
    while start < n_rows:
        stop = min(start + packed.n_fitting, n_rows)
        _add_lanes(_sum_block_up_to(codes, packed.words, start, stop, last_code, also), packed, class_weights)
        start = stop
