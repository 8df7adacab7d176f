"""Binned features, which all trees of a fit share."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class BinnedFeatures(NamedTuple):
    """Features as small integers, stored twice: large nodes read columns, small nodes read a few whole rows.

    A code in [0, n_bins[f]) is a bin; the code n_bins[f] means missing. All values of a bin are in [bin_low, bin_high].
    Both arrays hold the bins of feature f at bin_offsets[f]:bin_offsets[f + 1], and are the same array if each bin has
    only one value.
    """

    codes: NDArray[Any]  # (feature, row); uint8, uint16 or uint32, depending on the largest code
    codes_by_row: NDArray[Any]  # (row, feature or padding), the same codes
    n_bins: NDArray[np.int64]  # (feature,)
    bin_offsets: NDArray[np.int64]  # (feature + 1,)
    bin_low: NDArray[np.float64]  # (bin of any feature,)
    bin_high: NDArray[np.float64]  # (bin of any feature,)
    is_categorical: NDArray[np.uint8]  # (feature,), 1 if codes are categories without an order, whose bins are unused
