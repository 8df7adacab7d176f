"""Scores of rows, mixed into votes of other models, in one kernel: for a single row, calls take longer than sums."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel
from core.kernels.ridge.distances import ROWS_PER_PASS, fill_distances_of_pass
from core.kernels.ridge.encoding import RowEncoding, encode_row, fill_factors
from core.kernels.ridge.products import add_products
from core.kernels.ridge.similarity import fill_row_of_similarities


class Regression(NamedTuple):
    """Scores of classes as sums of similarities to landmarks."""

    encoding: RowEncoding
    landmarks: NDArray[np.float32]  # (coordinate, landmark), encoded training rows
    squared_lengths: NDArray[np.float32]  # (landmark,), of the numbers of each landmark
    coefficients: NDArray[np.float64]  # (class, landmark)
    priors: NDArray[np.float64]  # (class,), scores of a row that is unlike all landmarks
    width: float  # squared distance at which similarity is 1 / e


@kernel
def mix_in_scores(X: NDArray[Any], model: Regression, share: float, out: NDArray[np.float64]) -> None:
    """Replace the votes out (row, class) by (1 - share) times these and share times the scores of X (row, feature)."""
    encoding, n_landmarks = model.encoding, len(model.squared_lengths)
    factors, numeric = np.empty(len(encoding.scales)), np.flatnonzero(encoding.is_categorical == 0)
    fill_factors(encoding.scales, factors)
    points = np.empty((ROWS_PER_PASS, len(factors)), np.float32)
    distances = np.empty((ROWS_PER_PASS, n_landmarks), np.float32)
    similarities = np.empty((ROWS_PER_PASS, n_landmarks))
    scores = np.empty((ROWS_PER_PASS, len(model.priors)))
    for first in range(0, len(X), ROWS_PER_PASS):
        n_rows = min(ROWS_PER_PASS, len(X) - first)
        for row in range(n_rows):
            encode_row(X[first + row], encoding, factors, points[row])
        fill_distances_of_pass(
            points[:n_rows], model.landmarks, model.squared_lengths, encoding.is_categorical, numeric, distances
        )
        for row in range(n_rows):
            fill_row_of_similarities(distances[row], model.width, similarities[row])
            scores[row] = model.priors
        add_products(similarities[:n_rows], model.coefficients, scores[:n_rows])
        for row in range(n_rows):
            _mix(scores[row], share, out[first + row])


@inner_kernel
def _mix(scores: NDArray[np.float64], share: float, out: NDArray[np.float64]) -> None:
    for k in range(len(scores)):
        out[k] = (1.0 - share) * out[k] + share * scores[k]
