"""A fitted kernel ridge regression."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.kernel_ridge.row_encoding import RowEncoding
from core.kernels.ridge.similarity import add_products, fill_similarities, fill_squared_distances
from core.monitoring import raise_if_stopped, stop_flag_of_block

Result = TypeVar("Result")

#: Rows that are computed at a time. It does not depend on the number of threads, since sums are added block by block.
ROWS_PER_BLOCK = 512


class KernelRidge(NamedTuple):
    """Scores of classes as sums of similarities to landmarks."""

    encoding: RowEncoding
    landmarks: NDArray[np.float32]  # (coordinate, landmark), encoded training rows
    coefficients: NDArray[np.float64]  # (class, landmark)
    priors: NDArray[np.float64]  # (class,), scores of a row that is unlike all landmarks
    width: float  # squared distance at which similarity is 1 / e

    def scores(self, X: NDArray[np.float32] | NDArray[np.float64], n_threads: int = 1) -> NDArray[np.float64]:
        """Return estimates of the class probabilities of X (row, feature), (row, class).

        They sum to 1 up to rounding, and some may be negative. Each block of rows is a `stop_point`.
        """
        out = np.tile(self.priors, (len(X), 1))
        stop_flag = stop_flag_of_block()

        def score(rows: slice) -> None:
            raise_if_stopped(stop_flag)
            distances = squared_distances(self.encoding.encode(X[rows]), self.landmarks, self.encoding)
            similarities = np.empty_like(distances)
            fill_similarities(distances, self.width, similarities)
            add_products(similarities, self.coefficients, out[rows])

        in_row_blocks(len(X), n_threads, score)
        return out


def squared_distances(
    points: NDArray[np.float32], landmarks: NDArray[np.float32], encoding: RowEncoding
) -> NDArray[np.float64]:
    """Return the squared distances of points (row, coordinate) to landmarks (coordinate, landmark), (row, landmark)."""
    out = np.empty((len(points), landmarks.shape[1]))
    fill_squared_distances(points, landmarks, encoding.is_categorical, out)
    return out


def in_row_blocks(n_rows: int, n_threads: int, function: Callable[[slice], Result]) -> list[Result]:
    """Return the results of `function` for consecutive blocks of rows, in their order."""
    blocks = [slice(first, first + ROWS_PER_BLOCK) for first in range(0, n_rows, ROWS_PER_BLOCK)]
    if n_threads <= 1 or len(blocks) == 1:
        return [function(block) for block in blocks]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, blocks))
