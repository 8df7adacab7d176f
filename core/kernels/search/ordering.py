"""Rows of one feature in the order of their codes, without the rows of the lowest code.

A key consists of a code and, in the lower POSITION_BITS bits, the position of its row in the node. So keys are
distinct, and their order is the stable order of the codes. Rows of the lowest code need no order among themselves, and
their class weights are those of the node minus those of the other rows; for sparse features this saves most of the
work.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel

POSITION_BITS = 32
POSITION_MASK = (1 << POSITION_BITS) - 1

#: Insertion sort is the fastest up to the first number of keys. Up to the second it is fastest to count, for each key,
#: the smaller ones: there are no branches, and the compiler vectorizes the loop.
MAX_KEYS_BY_INSERTION = 8
MAX_KEYS_BY_RANK = 32

_LANES = 16  # ranks are counted with full vectors
_RANK_POSITION_BITS = 6
_RANK_CODES = 1 << (31 - _RANK_POSITION_BITS)
_DIGIT_BITS = 8
N_DIGITS = 1 << _DIGIT_BITS
RANK_BUFFER_LENGTH = MAX_KEYS_BY_RANK + _LANES


@inner_kernel
def key_code(key: int) -> int:
    """Return the code of a key."""
    return key >> POSITION_BITS


@inner_kernel
def key_position(key: int) -> int:
    """Return the position in the node of the key's row."""
    return key & POSITION_MASK


@inner_kernel
def fill_keys_above(codes: NDArray[Any], n_rows: int, lowest: int, keys: NDArray[np.int64]) -> int:
    """Fill `keys` with the keys of the codes above `lowest`, in row order; return their number.

    Each key is written before it is known whether it stays. This avoids a branch that the processor could not predict.
    """
    n_keys = 0
    for i in range(n_rows):
        code = np.int64(codes[i])
        keys[n_keys] = (code << POSITION_BITS) | i
        n_keys += int(code != lowest)
    return n_keys


@inner_kernel
def _insert(keys: NDArray[np.int64], n_keys: int, ordered: NDArray[np.int64]) -> None:
    """Fill `ordered` by insertion sort."""
    for i in range(n_keys):
        key = keys[i]
        j = i
        while j > 0 and ordered[j - 1] > key:
            ordered[j] = ordered[j - 1]
            j -= 1
        ordered[j] = key


@inner_kernel
def _place_by_rank(
    keys: NDArray[np.int64], n_keys: int, lowest: int, small_keys: NDArray[np.int32], ordered: NDArray[np.int64]
) -> None:
    """Fill `ordered` by counting the smaller keys of each key."""
    n_padded = (n_keys + _LANES - 1) // _LANES * _LANES
    for i in range(n_keys):
        small_keys[i] = np.int32(((key_code(keys[i]) - lowest) << _RANK_POSITION_BITS) | i)
    for i in range(n_keys, n_padded):
        small_keys[i] = np.int32(0x7FFFFFFF)
    for i in range(n_keys):
        key = small_keys[i]
        rank = np.int32(0)
        for j in range(n_padded):
            rank += np.int32(small_keys[j] < key)
        ordered[rank] = keys[i]


@inner_kernel
def _count_sort(
    keys: NDArray[np.int64], n_keys: int, shift: int, lowest: int, starts: NDArray[np.int32], ordered: NDArray[np.int64]
) -> None:
    """Fill `ordered` by a counting sort on one digit of the code, which keeps the order of equal digits."""
    for digit in range(N_DIGITS):
        starts[digit] = 0
    for i in range(n_keys):
        starts[((key_code(keys[i]) - lowest) >> shift) & (N_DIGITS - 1)] += 1
    before = np.int32(0)
    for digit in range(N_DIGITS):
        n_equal = starts[digit]
        starts[digit] = before
        before = np.int32(before + n_equal)
    for i in range(n_keys):
        key = keys[i]
        digit = ((key_code(key) - lowest) >> shift) & (N_DIGITS - 1)
        ordered[starts[digit]] = key
        starts[digit] += 1


@inner_kernel
def order_keys(
    keys: NDArray[np.int64],
    n_keys: int,
    lowest: int,
    highest: int,
    small_keys: NDArray[np.int32],
    starts: NDArray[np.int32],
    ordered: NDArray[np.int64],
) -> None:
    """Fill `ordered` with the keys in ascending order; their codes are in (lowest, highest]. Changes `keys`.

    Workspaces: small_keys (RANK_BUFFER_LENGTH,), starts (N_DIGITS,).
    """
    if n_keys <= MAX_KEYS_BY_INSERTION:
        _insert(keys, n_keys, ordered)
    elif n_keys <= MAX_KEYS_BY_RANK and highest - lowest < _RANK_CODES:
        _place_by_rank(keys, n_keys, lowest, small_keys, ordered)
    else:
        _count_sort(keys, n_keys, 0, lowest, starts, ordered)
        shift = _DIGIT_BITS
        while (highest - lowest) >> shift > 0:
            for i in range(n_keys):
                keys[i] = ordered[i]
            _count_sort(keys, n_keys, shift, lowest, starts, ordered)
            shift += _DIGIT_BITS
