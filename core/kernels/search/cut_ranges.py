"""Ranges of the cuts of a feature that leave enough rows on both sides."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel
from core.kernels.search.ordering import key_code
from core.kernels.search.scanning import CutRange


@inner_kernel
def cut_range_from_rows(
    keys: NDArray[np.int64], n_scanned: int, n_rows: int, lowest: int, min_rows: int, missing_goes_left: bool
) -> CutRange:
    """Return the range of allowed cuts if each entry is a row.

    Both sides keep at least `min_rows` rows; n_rows - n_scanned rows stay on the left in all cuts.
    """
    n_short = min_rows - (n_rows - n_scanned)
    if n_scanned < min_rows or n_short > n_scanned:
        return CutRange(lowest, lowest, missing_goes_left)
    first = lowest if n_short <= 0 else key_code(keys[n_short - 1])
    return CutRange(first, key_code(keys[n_scanned - min_rows]), missing_goes_left)


@inner_kernel
def count_codes(codes: NDArray[Any], n_rows: int, lowest: int, n_codes: int, rows_per_code: NDArray[np.int32]) -> None:
    """Fill rows_per_code[:n_codes] with the numbers of rows of the codes lowest, lowest + 1, ..."""
    rows_per_code[:n_codes] = 0
    for i in range(n_rows):
        rows_per_code[np.int64(codes[i]) - lowest] += 1


@inner_kernel
def cut_range_from_counts(
    rows_per_code: NDArray[np.int32], n_codes: int, n_missing: int, lowest: int, min_rows: int, missing_goes_left: bool
) -> CutRange:
    """Return the range of allowed cuts if entries are sums.

    The last of the counted codes is that of missing values if `n_missing` is positive.
    """
    n_present = n_codes - 1 if n_missing > 0 else n_codes
    first, n_left = 0, n_missing if missing_goes_left else 0
    while first < n_present and n_left + rows_per_code[first] < min_rows:
        n_left += rows_per_code[first]
        first += 1
    end, n_right = n_present, 0 if missing_goes_left else n_missing
    while end > 0 and n_right < min_rows:
        end -= 1
        n_right += rows_per_code[end]
    return CutRange(lowest + first, lowest + end, missing_goes_left)
