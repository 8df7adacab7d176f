"""Which cuts of a feature leave enough rows on both sides."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel
from core.kernels.search.ordering import code_of
from core.kernels.search.scanning import CutRange


@inner_kernel
def range_of_rows(
    keys: NDArray[np.int64], n_scanned: int, n_rows: int, lowest: int, least: int, missing_goes_left: bool
) -> CutRange:
    """The range where each entry is a row: `least` rows on both sides, of which n_rows - n_scanned stay on the left."""
    n_short = least - (n_rows - n_scanned)
    if n_scanned < least or n_short > n_scanned:
        return CutRange(lowest, lowest, missing_goes_left)
    first = lowest if n_short <= 0 else code_of(keys[n_short - 1])
    return CutRange(first, code_of(keys[n_scanned - least]), missing_goes_left)


@inner_kernel
def count_codes(codes: NDArray[Any], n_rows: int, lowest: int, n_codes: int, n_by_code: NDArray[np.int32]) -> None:
    """Fill n_by_code[:n_codes] with the rows of the codes lowest, lowest + 1, ..."""
    n_by_code[:n_codes] = 0
    for i in range(n_rows):
        n_by_code[np.int64(codes[i]) - lowest] += 1


@inner_kernel
def range_of_sums(
    n_by_code: NDArray[np.int32], n_codes: int, n_missing: int, lowest: int, least: int, missing_goes_left: bool
) -> CutRange:
    """The range where entries are sums. The last of the counted codes is that of missing values if there are any."""
    n_present = n_codes - 1 if n_missing > 0 else n_codes
    first, n_left = 0, n_missing if missing_goes_left else 0
    while first < n_present and n_left + n_by_code[first] < least:
        n_left += n_by_code[first]
        first += 1
    end, n_right = n_present, 0 if missing_goes_left else n_missing
    while end > 0 and n_right < least:
        end -= 1
        n_right += n_by_code[end]
    return CutRange(lowest + first, lowest + end, missing_goes_left)
