"""Features -> small integer codes, built once per fit and shared by all its trees.

A feature with at most `max_bins` distinct values gets one bin per value and loses nothing. Any other is cut into bins
of nearly equal size. Codes are uint8; only when a feature has missing values next to 256 bins is there one code too
many, and the codes become uint16.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.binning import choose_bins, encode_by_bins, encode_few_values
from core.kernels.features import BinnedFeatures

#: Columns copied together: one pass over a cache line of a C-ordered X serves several features.
_BLOCK = 16


class _Bins(NamedTuple):
    """The bins of one feature; both arrays (bin,)."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]


class _TooNarrow(Exception):
    """A feature has 256 values and missing ones: one code more than uint8 holds."""


def bin_features(X: NDArray[Any], max_bins: int, n_threads: int = 1) -> BinnedFeatures:
    """Bin X (row, feature), float, NaN = missing, no infinities."""
    try:
        return _binned(X, max_bins, n_threads, np.empty(X.shape[::-1], dtype=np.uint8))
    except _TooNarrow:
        return _binned(X, max_bins, n_threads, np.empty(X.shape[::-1], dtype=np.uint16))


def _binned(X: NDArray[Any], max_bins: int, n_threads: int, codes: NDArray[Any]) -> BinnedFeatures:
    def encode(first: int) -> list[_Bins]:
        columns = _contiguous_columns(X, first)
        return [_encode(column, max_bins, codes[first + j]) for j, column in enumerate(columns)]

    with ThreadPoolExecutor(n_threads) as pool:
        bins = [one for block in pool.map(encode, range(0, X.shape[1], _BLOCK)) for one in block]
    n_bins = np.array([len(one.low) for one in bins], dtype=np.int64)
    return BinnedFeatures(
        codes=codes,
        n_bins=n_bins,
        bin_offsets=np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int64),
        bin_low=np.concatenate([one.low for one in bins]),
        bin_high=np.concatenate([one.high for one in bins]),
    )


def _contiguous_columns(X: NDArray[Any], first: int) -> Iterator[NDArray[np.float64]]:
    """Columns first, first + 1, ... of one block. Adding zero turns -0.0 into 0.0: equal values get equal bits."""
    block = np.array(X[:, first : first + _BLOCK].T, dtype=np.float64, order="C")
    block += 0.0
    yield from block


def _encode(column: NDArray[np.float64], max_bins: int, codes: NDArray[Any]) -> _Bins:
    """Fill `codes` (row,) and return the bins of one feature; bins that lose something leave room for missing."""
    n_missing = int(np.count_nonzero(np.isnan(column)))
    most_in_byte = np.iinfo(np.uint8).max if n_missing else np.iinfo(np.uint8).max + 1
    exact = _exact_bins(column, max_bins if codes.itemsize > 1 else min(max_bins, most_in_byte), codes)
    if exact is not None:
        return exact
    if n_missing and codes.itemsize == 1 and _exact_bins(column, max_bins, codes.astype(np.uint16)) is not None:
        raise _TooNarrow
    ascending = np.sort(column)[: len(column) - n_missing]
    low, high = np.empty(max_bins), np.empty(max_bins)
    n_bins = choose_bins(ascending, min(max_bins, most_in_byte), low, high)
    encode_by_bins(column, high[:n_bins], codes)
    return _Bins(low[:n_bins], high[:n_bins])


def _exact_bins(column: NDArray[np.float64], max_bins: int, codes: NDArray[Any]) -> _Bins | None:
    """One bin per value, or None when there are more than `max_bins` of them."""
    values = np.empty(max_bins, dtype=np.float64)
    with np.errstate(over="ignore"):  # hashing wraps around on purpose; plain Python would warn
        n_values = encode_few_values(column, max_bins, codes, values)
    return None if n_values < 0 else _Bins(values[:n_values], values[:n_values])
