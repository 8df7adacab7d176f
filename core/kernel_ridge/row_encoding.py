"""Rows as points whose distances mean the same in every feature."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Largest distance from the mean, in standard deviations: an outlier is far from all rows, and squares stay finite.
_LARGEST = 8.0
#: Code of a missing category, which is a category of its own.
_MISSING_CATEGORY = -1.0


class RowEncoding(NamedTuple):
    """Standardization of the numeric features among some features; categories keep their codes."""

    features: NDArray[np.int64]  # (coordinate,), numbers of the features, ascending
    is_categorical: NDArray[np.uint8]  # (coordinate,)
    centers: NDArray[np.float64]  # (coordinate,), means; 0 for categories
    scales: NDArray[np.float64]  # (coordinate,), standard deviations; 0 if all numbers are equal, 1 for categories

    def encode(self, X: NDArray[np.float32] | NDArray[np.float64]) -> NDArray[np.float32]:
        """Return X (row, feature) as points (row, coordinate), float32 in C order. A missing number is at the mean."""
        points = np.take(X, self.features, axis=1).astype(np.float64)
        is_category = self.is_categorical != 0
        limits = np.where(is_category, np.inf, _LARGEST)
        with np.errstate(all="ignore"):
            points -= self.centers
            points *= np.where(self.scales > 0, 1.0 / self.scales, 0.0)
        np.clip(points, -limits, limits, out=points)
        np.copyto(points, np.where(is_category, _MISSING_CATEGORY, 0.0), where=np.isnan(points))
        return points.astype(np.float32)


def row_encoding(
    X: NDArray[np.float32] | NDArray[np.float64], is_categorical: NDArray[np.bool_], features: NDArray[np.int64]
) -> RowEncoding:
    """Return the encoding of rows like those of X (row, feature), NaN = missing, by some of the features.

    A feature with one value, or whose squares are too large or too small for a float, has the scale 0 and makes no
    difference.
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
        mean, deviation = float(known.mean()), float(known.std())
    is_usable = np.isfinite(mean) and np.isfinite(deviation) and known.min() < known.max()
    return (mean, deviation) if is_usable else (0.0, 0.0)
