"""Features -> small integer codes, built once per fit and shared by all its trees.

A feature with at most `max_bins` distinct values gets one bin per value and loses nothing; without a limit, all do.
Any other is cut into bins of nearly equal size. All codes are as wide as the largest needs: uint8, except where a
feature has missing values next to 256 bins, or more bins than that.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.features import BinnedFeatures
from core.kernels.growth.binning import (
    MOST_WHOLE,
    choose_bins,
    count_wholes,
    encode_by_bins,
    encode_few_values,
    encode_wholes,
)

#: Columns copied together: one pass over a cache line of a C-ordered X serves several features.
_BLOCK = 16
#: Bytes that the processor loads together.
_CACHE_LINE = 64
#: Most distinct values that are found by hashing; more are found by sorting.
_MOST_HASHED = 256


class _Bins(NamedTuple):
    """The bins of one feature; both arrays (bin,)."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]


def _exact(values: NDArray[np.float64]) -> _Bins:
    """One bin per value."""
    return _Bins(values, values)


class _TooNarrow(Exception):
    """A feature needs more codes than the chosen type holds."""


class _Block(threading.local):
    """Columns side by side, one block a thread for all its features: one large piece of memory goes back to the system,
    while many in turn would stay with the process for the rest of the fit.
    """

    def __init__(self, X: NDArray[Any]) -> None:
        self.columns = np.empty((min(_BLOCK, X.shape[1]), X.shape[0]), dtype=X.dtype)


class _Codes(NamedTuple):
    """Both copies of the codes, still empty."""

    by_column: NDArray[Any]  # (feature, row)
    by_row: NDArray[Any]  # (row, feature or more)


def bin_features(X: NDArray[Any], max_bins: int | None, n_threads: int = 1) -> BinnedFeatures:
    """Bin X (row, feature), float, NaN = missing, no infinities."""
    for width in (np.uint8, np.uint16):
        try:
            return _binned(X, max_bins, n_threads, _empty_codes(X.shape, width))
        except _TooNarrow:
            pass
    return _binned(X, max_bins, n_threads, _empty_codes(X.shape, np.uint32))


def _empty_codes(shape: tuple[int, ...], width: Any) -> _Codes:
    n_rows, n_features = shape
    return _Codes(np.empty((n_features, n_rows), dtype=width), _within_cache_lines(n_rows, n_features, np.dtype(width)))


def _within_cache_lines(n_rows: int, n_features: int, width: np.dtype[Any]) -> NDArray[Any]:
    """An empty array (row, feature or more), C order. Small nodes read codes of rows that lie anywhere: where rows are
    short, each is as long as a power of two and so lies within one cache line.
    """
    n_bytes = n_features * width.itemsize
    n_cells = n_features if n_bytes > _CACHE_LINE else (1 << (n_bytes - 1).bit_length()) // width.itemsize
    room = np.empty(n_rows * n_cells * width.itemsize + _CACHE_LINE, dtype=np.uint8)
    first = -room.ctypes.data % _CACHE_LINE
    return room[first : first + n_rows * n_cells * width.itemsize].view(width).reshape(n_rows, n_cells)


def _binned(X: NDArray[Any], max_bins: int | None, n_threads: int, codes: _Codes) -> BinnedFeatures:
    room = _Block(X)

    def encode(first: int) -> list[_Bins]:
        block = codes.by_column[first : first + _BLOCK]
        bins = [_encode(column, max_bins, block[j]) for j, column in enumerate(_contiguous_columns(X, first, room))]
        codes.by_row[:, first : first + len(block)] = block.T
        return bins

    with ThreadPoolExecutor(n_threads) as pool:
        bins = [one for block in pool.map(encode, range(0, X.shape[1], _BLOCK)) for one in block]
    low = np.concatenate([one.low for one in bins])
    n_bins = np.array([len(one.low) for one in bins], dtype=np.int64)
    return BinnedFeatures(
        codes=codes.by_column,
        codes_by_row=codes.by_row,
        n_bins=n_bins,
        bin_offsets=np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int64),
        bin_low=low,
        bin_high=low if all(one.low is one.high for one in bins) else np.concatenate([one.high for one in bins]),
    )


def _contiguous_columns(X: NDArray[Any], first: int, room: _Block) -> Iterator[NDArray[np.float64]]:
    """Columns first, first + 1, ... of one block, which is copied in the width of X and widened column by column.
    Adding zero turns -0.0 into 0.0: equal values get equal bits.
    """
    columns = room.columns[: X.shape[1] - first]
    np.copyto(columns, X[:, first : first + _BLOCK].T)
    for column in columns:
        yield np.add(column, 0.0, dtype=np.float64)


def _encode(column: NDArray[np.float64], max_bins: int | None, codes: NDArray[Any]) -> _Bins:
    """Fill `codes` (row,) and return the bins of one feature; bins that lose something leave room for missing."""
    counts = np.zeros(MOST_WHOLE, dtype=np.int64)
    highest, n_missing = count_wholes(column, counts)
    if highest >= 0:
        return _encode_wholes(column, counts[: highest + 1], n_missing, max_bins, codes)
    n_missing = int(np.count_nonzero(np.isnan(column)))
    few = _MOST_HASHED if max_bins is None else max_bins
    exact = _few_bins(column, few if codes.itemsize > 1 else min(few, _most_in_byte(n_missing)), codes)
    if exact is not None:
        return exact
    if max_bins is None:
        return _all_values(column, n_missing, codes)
    if n_missing and codes.itemsize == 1 and _few_bins(column, max_bins, codes.astype(np.uint16)) is not None:
        raise _TooNarrow
    bins = _lossy_bins(np.sort(column)[: len(column) - n_missing], n_missing, max_bins)
    encode_by_bins(column, bins.high, codes)
    return bins


def _encode_wholes(
    column: NDArray[np.float64], counts: NDArray[np.int64], n_missing: int, max_bins: int | None, codes: NDArray[Any]
) -> _Bins:
    """The same for small whole numbers, of which value v occurs counts[v] times: codes are looked up."""
    wholes = np.flatnonzero(counts)
    values = wholes.astype(np.float64)
    if max_bins is None or len(values) <= max_bins:
        _refuse_narrow(len(values), n_missing, codes)
        bins = _exact(values)
    else:
        bins = _lossy_bins(np.repeat(values, counts[wholes]), n_missing, max_bins)
    code_of = np.zeros(len(counts), dtype=codes.dtype)
    code_of[wholes] = np.searchsorted(bins.high, values)
    encode_wholes(column, code_of, len(bins.low), codes)
    return bins


def _refuse_narrow(n_values: int, n_missing: int, codes: NDArray[Any]) -> None:
    if n_values - (n_missing == 0) > np.iinfo(codes.dtype).max:
        raise _TooNarrow


def _most_in_byte(n_missing: int) -> int:
    return int(np.iinfo(np.uint8).max) + (n_missing == 0)


def _lossy_bins(ascending: NDArray[np.float64], n_missing: int, max_bins: int) -> _Bins:
    low, high = np.empty(max_bins), np.empty(max_bins)
    n_bins = choose_bins(ascending, min(max_bins, _most_in_byte(n_missing)), low, high)
    return _Bins(low[:n_bins], high[:n_bins])


def _few_bins(column: NDArray[np.float64], max_bins: int, codes: NDArray[Any]) -> _Bins | None:
    """One bin per value, or None when there are more than `max_bins` of them."""
    values = np.empty(max_bins, dtype=np.float64)
    with np.errstate(over="ignore"):  # hashing wraps around on purpose; plain Python would warn
        n_values = encode_few_values(column, max_bins, codes, values)
    return None if n_values < 0 else _exact(values[:n_values].copy())


def _all_values(column: NDArray[np.float64], n_missing: int, codes: NDArray[Any]) -> _Bins:
    """One bin per value, however many there are."""
    values = np.unique(column[~np.isnan(column)] if n_missing else column)
    _refuse_narrow(len(values), n_missing, codes)
    encode_by_bins(column, values, codes)
    return _exact(values)
