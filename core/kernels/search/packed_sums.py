"""Class weights of many rows, summed at once: each class owns some bits of a word, and words are added as a whole.

    word:  [ ... | class 2 | class 1 | class 0 ]     n_bits each

If weights are integers, a row is stored as its weight shifted to the bits of its class. As many rows as cannot overflow
are summed without a table or an order, which the compiler vectorizes. The words of a whole tree are moved together with
its rows. If a tree cannot be packed, nodes with few classes may still be packed on their own.

Only random cuts sum rows this way. For best cuts there are no words and no packed rows: both are None, so that kernels
are compiled without this code.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.sides import ClassWeights
from core.kernels.jit import inlined_kernel, inner_kernel

_WORD_BITS = 64
_MAX_BITS_PER_CLASS = 32  # sums of more bits could be inexact in float64
#: With fewer rows per sum, unpacking the words costs more than it saves.
MIN_ROWS_PER_SUM = 16


class PackedRows(NamedTuple):
    """One word per row of a tree or a node."""

    words: NDArray[np.uint64]  # (row,)
    lanes: NDArray[np.int64]  # (listed class,), position of the class in the word
    n_fitting: int  # number of rows that can be summed without overflow; 0: rows are not packed
    n_bits: int  # per class


@inner_kernel
def pack_weights(
    classes: NDArray[np.uint16], weights: NDArray[np.float64], n_classes: int, words: NDArray[np.uint64]
) -> int:
    """Fill `words` (row,); return how many rows can be summed without overflow, 0 if weights are not integers."""
    n_bits = np.uint64(bits_per_class(n_classes))
    largest, n_fractional = np.uint64(0), 0
    for i in range(classes.shape[0]):
        integer = np.uint64(weights[i])
        words[i] = integer << (n_bits * np.uint64(classes[i]))
        largest = max(largest, integer)
        n_fractional += int(float(integer) != weights[i])
    if n_fractional > 0:
        return 0
    n_fitting = int((np.uint64(1) << n_bits) // largest) - 1
    return n_fitting if n_fitting >= MIN_ROWS_PER_SUM else 0


@inner_kernel
def bits_per_class(n_classes: int) -> int:
    """Return the number of bits of a word that each class owns."""
    return min(_WORD_BITS // n_classes, _MAX_BITS_PER_CLASS)


@inlined_kernel
def packed_rows(
    classes: NDArray[np.uint16],
    weights: NDArray[np.float64],
    words: NDArray[np.uint64] | None,
    lanes: NDArray[np.int64],
) -> PackedRows | None:
    """Return the rows packed into `words` (row or more,) if they can be packed; None without words.

    `lanes` are 0, 1, ... Only kernels may call this function, since no references to the views in its result are
    counted.
    """
    if words is None:
        return None
    n_rows, n_classes = classes.shape[0], lanes.shape[0]
    n_fitting = pack_weights(classes, weights, n_classes, words)
    return PackedRows(words[:n_rows], lanes, n_fitting, bits_per_class(n_classes))


@inner_kernel
def _add_lanes(total: np.uint64, packed: PackedRows, class_weights: ClassWeights) -> None:
    """Add the weight of each listed class in `total` to class_weights (listed class,)."""
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
    """Fill class_weights (listed class,) with the sums over all rows."""
    n_rows, start = packed.words.shape[0], 0
    class_weights[:] = 0.0
    while start < n_rows:
        stop = min(start + packed.n_fitting, n_rows)
        _add_lanes(_sum_block(packed.words, start, stop), packed, class_weights)
        start = stop


@inner_kernel
def _sum_block_up_to(
    codes: NDArray[Any], words: NDArray[np.uint64], start: int, stop: int, last_code: int, extra_code: int
) -> np.uint64:
    last, extra = codes.dtype.type(last_code), codes.dtype.type(extra_code)
    first, total = np.uint64(start), np.uint64(0)
    for i in range(np.uint64(stop - start)):
        is_included = np.uint64(codes[first + i] <= last) | np.uint64(codes[first + i] == extra)
        total += words[first + i] & (np.uint64(0) - is_included)
    return total


@inlined_kernel
def sum_up_to(
    codes: NDArray[Any], packed: PackedRows, last_code: int, extra_code: int, class_weights: ClassWeights
) -> None:
    """Fill class_weights (listed class,) with the sums over the rows of some codes.

    These are the codes that are at most `last_code`, or equal to `extra_code`.
    """
    n_rows, start = packed.words.shape[0], 0
    class_weights[:] = 0.0
    while start < n_rows:
        stop = min(start + packed.n_fitting, n_rows)
        _add_lanes(_sum_block_up_to(codes, packed.words, start, stop, last_code, extra_code), packed, class_weights)
        start = stop
