"""Encoding of rows as points, and the standardization that suits the rows of a table."""

import numpy as np
from numpy.typing import NDArray

from core.kernel_ridge.model import in_row_blocks
from core.kernels.ridge.encoding import RowEncoding, encode_rows
from core.kernels.row_layout import as_kernel_rows


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
