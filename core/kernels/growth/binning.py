"""Conversion of the values of one feature to codes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel

#: Integers below this number are counted in a table.
COUNT_TABLE_LENGTH = 1 << 14
#: Slots of the hash table: a power of two, and at least twice the largest number of values, so that probes are short.
_SLOTS = 1024
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(54)  # keeps the top 10 bits, 2**10 = _SLOTS


@kernel
def count_integers(column: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[int, int]:
    """Count the values of a feature that consists of integers in [0, COUNT_TABLE_LENGTH) and missing values.

    Fills `counts` (COUNT_TABLE_LENGTH,). Returns the highest value, -1 for any other feature, and the number of missing
    values.
    """
    highest, n_missing = -1, 0
    for i in range(column.shape[0]):
        value = column[i]
        if 0.0 <= value < COUNT_TABLE_LENGTH:
            integer = np.uint32(value)
            if float(integer) != value:
                return -1, 0
            counts[integer] += 1
            highest = max(highest, int(integer))
        elif np.isnan(value):
            n_missing += 1
        else:
            return -1, 0
    return highest, n_missing


@kernel
def encode_integers(
    column: NDArray[np.float64], codes_by_value: NDArray[Any], missing_code: int, codes: NDArray[Any]
) -> None:
    """Set codes[i] = codes_by_value[column[i]] for integer values; missing values get `missing_code`."""
    for i in range(column.shape[0]):
        value = column[i]
        codes[i] = missing_code if np.isnan(value) else codes_by_value[np.uint32(value)]


@inner_kernel
def _find_slot(value_bits: np.uint64, keys: NDArray[np.uint64], used: NDArray[np.int32]) -> int:
    """Return the slot that holds `value_bits`, or the free slot where it belongs."""
    slot = int(np.int64((value_bits * _MULTIPLIER) >> _SHIFT))
    while used[slot] >= 0 and keys[slot] != value_bits:
        slot = (slot + 1) & (_SLOTS - 1)
    return slot


@kernel
def _sort_with_ranks(values: NDArray[np.float64], n_values: int) -> NDArray[np.int64]:
    """Sort values[:n_values] in place by insertion; return the new position of each of them."""
    order = np.arange(n_values)
    for i in range(1, n_values):
        value, origin = values[i], order[i]
        j = i
        while j > 0 and values[j - 1] > value:
            values[j], order[j] = values[j - 1], order[j - 1]
            j -= 1
        values[j], order[j] = value, origin
    rank = np.empty(n_values, dtype=np.int64)
    for i in range(n_values):
        rank[order[i]] = i
    return rank


@kernel
def encode_few_values(
    column: NDArray[np.float64], max_values: int, codes: NDArray[Any], values: NDArray[np.float64]
) -> int:
    """Encode each distinct value as its rank, and missing values as the code after the last rank.

    `column` (row,) has no negative zero; fills `codes` (row,) and `values` (max_values,). Returns the number of
    distinct values, or -1 if there are more than `max_values` (at most 256); the buffers are then undefined.
    """
    bits = column.view(np.uint64)
    keys = np.zeros(_SLOTS, dtype=np.uint64)
    used = np.full(_SLOTS, -1, dtype=np.int32)
    n_values = 0
    for i in range(column.shape[0]):
        if np.isnan(column[i]):
            continue
        slot = _find_slot(bits[i], keys, used)
        if used[slot] < 0:
            if n_values == max_values:
                return -1
            keys[slot] = bits[i]
            used[slot] = n_values
            values[n_values] = column[i]
            n_values += 1
    rank = _sort_with_ranks(values, n_values)
    for i in range(column.shape[0]):
        if np.isnan(column[i]):
            codes[i] = n_values
        else:
            codes[i] = rank[used[_find_slot(bits[i], keys, used)]]
    return n_values


@kernel
def choose_bins(
    ascending: NDArray[np.float64], max_bins: int, low: NDArray[np.float64], high: NDArray[np.float64]
) -> int:
    """Cut ascending values into at most `max_bins` bins of nearly equal size; equal values share a bin.

    A value joins the current bin while at least half of its rows fit. Fills low and high (max_bins,); returns the
    number of bins.
    """
    n = ascending.shape[0]
    n_bins = 1
    bin_start = 0
    low[0] = ascending[0]
    i = 0
    while i < n:
        value = ascending[i]
        end = i + 1
        while end < n and ascending[end] == value:
            end += 1
        target = (n - bin_start) / (max_bins - n_bins + 1)
        if i > bin_start and n_bins < max_bins and (i - bin_start) + (end - i) / 2.0 > target:
            n_bins += 1
            bin_start = i
            low[n_bins - 1] = value
        high[n_bins - 1] = value
        i = end
    return n_bins


@kernel
def encode_by_bins(column: NDArray[np.float64], high: NDArray[np.float64], codes: NDArray[Any]) -> None:
    """Encode each value as the first bin whose highest value is not below it.

    Missing values get the number of bins as their code.
    """
    n_bins = high.shape[0]
    for i in range(column.shape[0]):
        value = column[i]
        if np.isnan(value):
            codes[i] = n_bins
            continue
        # bisection without branches, since the processor could not predict the half
        first, n_left = 0, n_bins
        while n_left > 1:
            half = n_left // 2
            first += half * int(high[first + half - 1] < value)
            n_left -= half
        codes[i] = first
