"""The binned features that all trees of a fit share."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class BinnedFeatures(NamedTuple):
    """Features as small integers, kept twice: large nodes read columns, small ones a few whole rows.

    A code in [0, n_bins[f]) is a bin, the code n_bins[f] means missing. Every value of a bin lies in
    [bin_low, bin_high]; both hold the bins of feature f at bin_offsets[f]:bin_offsets[f + 1],
    and are one array where every bin has but one value.
    """

    codes: NDArray[Any]  # uint8, uint16 or uint32, whatever the largest code needs; (feature, row)
    codes_by_row: NDArray[Any]  # the same, (row, feature), behind the features whatever fills up a row
    n_bins: NDArray[np.int64]  # (feature,)
    bin_offsets: NDArray[np.int64]  # (feature + 1,)
    bin_low: NDArray[np.float64]
    bin_high: NDArray[np.float64]
