"""Encoding of rows as points, and the standardization that suits the rows of a table."""

import numpy as np
from numpy.typing import NDArray

from core.kernel_ridge.model import in_row_blocks
from core.kernels.ridge.encoding import FARTHEST, RowEncoding, encode_rows
from core.kernels.row_layout import as_kernel_rows

#: Values that are more interquartile ranges than this beyond the quartiles are outliers, if they are few.
_LONGEST_TAIL = 20.0
#: Larger shares of such values are groups of rows, whose differences may matter.
_MAX_OUTLIER_SHARE = 0.1
#: Keeps the number that is farthest from the mean on the near side of `FARTHEST`, whatever the rounding.
_MARGIN = 1.001


def encode(X: NDArray[np.float32] | NDArray[np.float64], encoding: RowEncoding) -> NDArray[np.float32]:
    """Return the points (row, coordinate) of X (row, feature)."""
    out = np.empty((len(X), len(encoding.features)), dtype=np.float32)
    in_row_blocks(len(X), 1, lambda rows: encode_rows(as_kernel_rows(X[rows]), encoding, out[rows]))
    return out


def row_encoding(
    X: NDArray[np.float32] | NDArray[np.float64], is_categorical: NDArray[np.bool_], features: NDArray[np.int64]
) -> RowEncoding:
    """Return the encoding of rows like those of X (row, feature), NaN = missing, by some of the features.

    A feature with one value, or whose squares are too large or too small for a float, has the scale 0 and makes no
    difference. Outliers do not count for the scale of a feature.
    """
    centers, scales = np.zeros(len(features)), np.ones(len(features))
    for coordinate in np.flatnonzero(~is_categorical[features]):
        values = X[:, features[coordinate]].astype(np.float64)
        centers[coordinate], scales[coordinate] = _mean_and_deviation(values)
    return RowEncoding(features, is_categorical[features].astype(np.uint8), centers, scales)


def _mean_and_deviation(values: NDArray[np.float64]) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    if not len(known):
        return 0.0, 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        usual = _without_outliers(known)
        mean, deviation = float(usual.mean()), float(usual.std())
        farthest = float(np.abs(usual - mean).max())
    if not 0.0 < deviation < np.inf or usual.min() == usual.max():
        return 0.0, 0.0
    # A number that counts for the scale, such as the 1 of a rare flag, must not be encoded as missing.
    return mean, max(deviation, _MARGIN * farthest / FARTHEST)


def _without_outliers(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values (row,) without outliers, such as placeholders for missing values, or values in a wrong unit.

    Next to a few placeholders of 1e7, all other values of a feature would be equal. If the quartiles are equal, they
    give no scale for distances, and nothing is left out.
    """
    low, high = np.quantile(values, (0.25, 0.75), method="inverted_cdf")
    margin = _LONGEST_TAIL * (high - low)
    is_usual = (values >= low - margin) & (values <= high + margin)
    return values[is_usual] if margin > 0 and np.mean(is_usual) >= 1 - _MAX_OUTLIER_SHARE else values
