"""Binning of features into small integer codes, once per fit for all its trees.

A feature with at most `max_bins` distinct values has one bin per value and is binned without loss; without a limit this
holds for all features. Other features are divided into bins of nearly equal size. The bins of a categorical feature are
its categories, however many there are. All codes have the type that the feature with most bins needs: uint8, or a wider
type for more than 256 bins, or for 256 bins and missing values.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.features import BinnedFeatures
from core.kernels.growth.binning import (
    COUNT_TABLE_LENGTH,
    choose_bins,
    count_integers,
    encode_by_bins,
    encode_few_values,
    encode_integers,
)
from core.monitoring import raise_if_stopped

#: Number of columns copied at a time, so that each cache line of a C-ordered X is read once for several features.
_BLOCK_SIZE = 16
#: Bytes of a cache line.
_CACHE_LINE = 64
#: Maximum number of distinct values that are found by hashing; more are found by sorting.
_MAX_HASHED = 256


class _Bins(NamedTuple):
    """Smallest and largest value in each bin of a feature."""

    low: NDArray[np.float64]  # (bin,)
    high: NDArray[np.float64]  # (bin,)


def _exact(values: NDArray[np.float64]) -> _Bins:
    """Return one bin per value."""
    return _Bins(values, values)


class _TooNarrow(Exception):
    """Raised if a feature needs more codes than the integer type has values."""


class _ColumnBuffer(threading.local):
    """Contiguous copy of a block of columns, one buffer per thread for all its blocks.

    A single large buffer is returned to the system when it is freed; the memory of many smaller ones would stay with
    the process for the rest of the fit.
    """

    def __init__(self, X: NDArray[Any]) -> None:
        self.columns = np.empty((min(_BLOCK_SIZE, X.shape[1]), X.shape[0]), dtype=X.dtype)


class _Codes(NamedTuple):
    """Two copies of the codes, which are filled in place."""

    by_column: NDArray[Any]  # (feature, row)
    by_row: NDArray[Any]  # (row, feature), padded with further columns


def bin_features(
    X: NDArray[Any],
    max_bins: int | None,
    n_threads: int = 1,
    is_categorical: NDArray[np.bool_] | None = None,
    stop_flag: NDArray[np.uint8] | None = None,
) -> BinnedFeatures:
    """Bin X (row, feature), of float32 or float64 without infinities, NaN = missing.

    Features with is_categorical (feature,), by default none, hold codes 0, 1, ... of categories, which are kept. Raises
    FitStopped when `stop_flag` (1,), which is read before each feature, is set.
    """
    mask = np.zeros(X.shape[1], dtype=bool) if is_categorical is None else is_categorical
    for dtype in (np.uint8, np.uint16):
        try:
            return _bin_into(_empty_codes(X.shape, dtype), X, mask, max_bins, n_threads, stop_flag)
        except _TooNarrow:
            pass
    return _bin_into(_empty_codes(X.shape, np.uint32), X, mask, max_bins, n_threads, stop_flag)


def _empty_codes(shape: tuple[int, ...], dtype: Any) -> _Codes:
    n_rows, n_features = shape
    return _Codes(np.empty((n_features, n_rows), dtype=dtype), _aligned_rows(n_rows, n_features, np.dtype(dtype)))


def _aligned_rows(n_rows: int, n_features: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an empty array (row, feature) in C order, in which a short row does not cross a cache line.

    Small nodes read the codes of scattered rows. A row of at most one cache line is padded to a power of two.
    """
    n_bytes = n_features * dtype.itemsize
    n_columns = n_features if n_bytes > _CACHE_LINE else (1 << (n_bytes - 1).bit_length()) // dtype.itemsize
    buffer = np.empty(n_rows * n_columns * dtype.itemsize + _CACHE_LINE, dtype=np.uint8)
    first = -buffer.ctypes.data % _CACHE_LINE
    return buffer[first : first + n_rows * n_columns * dtype.itemsize].view(dtype).reshape(n_rows, n_columns)


def _bin_into(
    codes: _Codes,
    X: NDArray[Any],
    is_categorical: NDArray[np.bool_],
    max_bins: int | None,
    n_threads: int,
    stop_flag: NDArray[np.uint8] | None,
) -> BinnedFeatures:
    """Bin X and fill `codes`. Raises _TooNarrow if their type has too few values, and FitStopped."""
    buffer = _ColumnBuffer(X)

    def encode(first: int) -> list[_Bins]:
        block = codes.by_column[first : first + _BLOCK_SIZE]
        bins = []
        for j, column in enumerate(_contiguous_columns(X, first, buffer)):
            raise_if_stopped(stop_flag)
            is_coded = is_categorical[first + j]
            bins.append(_copy_codes(column, block[j]) if is_coded else _encode(column, max_bins, block[j]))
        codes.by_row[:, first : first + len(block)] = block.T
        return bins

    with ThreadPoolExecutor(n_threads) as pool:
        bins = [one for block in pool.map(encode, range(0, X.shape[1], _BLOCK_SIZE)) for one in block]
    low = np.concatenate([one.low for one in bins])
    n_bins = np.array([len(one.low) for one in bins], dtype=np.int64)
    return BinnedFeatures(
        codes=codes.by_column,
        codes_by_row=codes.by_row,
        n_bins=n_bins,
        bin_offsets=np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int64),
        bin_low=low,
        bin_high=low if all(one.low is one.high for one in bins) else np.concatenate([one.high for one in bins]),
        is_categorical=is_categorical.astype(np.uint8),
    )


def _contiguous_columns(X: NDArray[Any], first: int, buffer: _ColumnBuffer) -> Iterator[NDArray[np.float64]]:
    """Yield the columns of the block that starts at column `first`, as float64.

    The block is copied in the type of X and each column is converted by adding zero, which turns -0.0 into 0.0, so that
    equal values have equal bits.
    """
    columns = buffer.columns[: X.shape[1] - first]
    np.copyto(columns, X[:, first : first + _BLOCK_SIZE].T)
    for column in columns:
        yield np.add(column, 0.0, dtype=np.float64)


def _encode(column: NDArray[np.float64], max_bins: int | None, codes: NDArray[Any]) -> _Bins:
    """Fill `codes` (row,) and return the bins of one feature; lossy bins leave a code for missing values."""
    counts = np.zeros(COUNT_TABLE_LENGTH, dtype=np.int64)
    highest, n_missing = count_integers(column, counts)
    if highest >= 0:
        return _encode_small_integers(column, counts[: highest + 1], n_missing, max_bins, codes)
    n_missing = int(np.count_nonzero(np.isnan(column)))
    few = _MAX_HASHED if max_bins is None else max_bins
    exact = _few_bins(column, few if codes.itemsize > 1 else min(few, _max_bins_of_byte(n_missing)), codes)
    if exact is not None:
        return exact
    if max_bins is None:
        return _all_values(column, n_missing, codes)
    ascending = np.sort(column)[: len(column) - n_missing]
    if n_missing and codes.itemsize == 1 and 1 + np.count_nonzero(ascending[1:] != ascending[:-1]) <= max_bins:
        raise _TooNarrow
    bins = _lossy_bins(ascending, n_missing, max_bins)
    encode_by_bins(column, bins.high, codes)
    return bins


def _copy_codes(column: NDArray[np.float64], codes: NDArray[Any]) -> _Bins:
    """Fill `codes` (row,) with the codes of a categorical feature; missing values get the code after the highest."""
    highest, n_missing = count_integers(column, np.zeros(COUNT_TABLE_LENGTH, dtype=np.int64))
    if highest < 0:  # missing values only, or codes beyond the table
        n_missing = int(np.count_nonzero(np.isnan(column)))
        highest = int(np.nanmax(column)) if n_missing < len(column) else -1
    _check_width(highest + 1, n_missing, codes)
    encode_integers(column, np.arange(highest + 1).astype(codes.dtype), highest + 1, codes)
    return _exact(np.arange(highest + 1, dtype=np.float64))


def _encode_small_integers(
    column: NDArray[np.float64], counts: NDArray[np.int64], n_missing: int, max_bins: int | None, codes: NDArray[Any]
) -> _Bins:
    """Fill `codes` and return the bins of a feature of small integers, of which value v occurs counts[v] times."""
    integers = np.flatnonzero(counts)
    values = integers.astype(np.float64)
    if max_bins is None or len(values) <= max_bins:
        _check_width(len(values), n_missing, codes)
        bins = _exact(values)
    else:
        bins = _lossy_bins(np.repeat(values, counts[integers]), n_missing, max_bins)
    code_by_value = np.zeros(len(counts), dtype=codes.dtype)
    code_by_value[integers] = np.searchsorted(bins.high, values)
    encode_integers(column, code_by_value, len(bins.low), codes)
    return bins


def _check_width(n_values: int, n_missing: int, codes: NDArray[Any]) -> None:
    """Raise _TooNarrow if the type of `codes` has too few values for the bins and, if needed, a code for missing."""
    if n_values - (n_missing == 0) > np.iinfo(codes.dtype).max:
        raise _TooNarrow


def _max_bins_of_byte(n_missing: int) -> int:
    return int(np.iinfo(np.uint8).max) + (n_missing == 0)


def _lossy_bins(ascending: NDArray[np.float64], n_missing: int, max_bins: int) -> _Bins:
    low, high = np.empty(max_bins), np.empty(max_bins)
    n_bins = choose_bins(ascending, min(max_bins, _max_bins_of_byte(n_missing)), low, high)
    return _Bins(low[:n_bins], high[:n_bins])


def _few_bins(column: NDArray[np.float64], max_bins: int, codes: NDArray[Any]) -> _Bins | None:
    """Fill `codes` and return one bin per value, or return None if there are more than `max_bins` values."""
    values = np.empty(max_bins, dtype=np.float64)
    with np.errstate(over="ignore"):  # integer overflow of the hash is intended; without the JIT it would warn
        n_values = encode_few_values(column, max_bins, codes, values)
    return None if n_values < 0 else _exact(values[:n_values].copy())


def _all_values(column: NDArray[np.float64], n_missing: int, codes: NDArray[Any]) -> _Bins:
    """Fill `codes` and return one bin per value, of which there may be any number."""
    values = np.unique(column[~np.isnan(column)] if n_missing else column)
    _check_width(len(values), n_missing, codes)
    encode_by_bins(column, values, codes)
    return _exact(values)
