"""A fitted kernel ridge regression."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from core.kernels.ridge.distances import fill_squared_distances
from core.kernels.ridge.encoding import RowEncoding
from core.kernels.ridge.scoring import Regression, mix_in_scores
from core.kernels.row_layout import as_kernel_rows
from core.monitoring import raise_if_stopped, stop_flag_of_block

Result = TypeVar("Result")

#: Rows that are computed at a time. It does not depend on the number of threads, since sums are added block by block.
ROWS_PER_BLOCK = 512


class KernelRidge(Regression):
    """Fitted regression of class indicators; its arrays are described at `Regression`."""

    __slots__ = ()

    def scores(self, X: NDArray[np.float32] | NDArray[np.float64], n_threads: int = 1) -> NDArray[np.float64]:
        """Return estimates of the class probabilities of X (row, feature), (row, class).

        They sum to 1 up to rounding, and some may be negative. Each block of rows is a `stop_point`.
        """
        out = np.zeros((len(X), len(self.priors)))
        self.mix_into(out, X, 1.0, n_threads)
        return out

    def mix_into(
        self, votes: NDArray[np.float64], X: NDArray[np.float32] | NDArray[np.float64], share: float, n_threads: int = 1
    ) -> None:
        """Replace votes (row, class) by their mean with the scores of X (row, feature), which get `share` of it.

        Each block of rows is a `stop_point`.
        """
        stop_flag = stop_flag_of_block()

        def mix(rows: slice) -> None:
            raise_if_stopped(stop_flag)
            mix_in_scores(as_kernel_rows(X[rows]), self, share, votes[rows])

        in_row_blocks(len(X), n_threads, mix)


def new_kernel_ridge(
    encoding: RowEncoding,
    landmarks: NDArray[np.float32],
    coefficients: NDArray[np.float64],
    priors: NDArray[np.float64],
    width: float,
) -> KernelRidge:
    """Return the regression with these landmarks (coordinate, landmark), coefficients (class, landmark) and priors
    (class,).
    """
    return KernelRidge(encoding, landmarks, squared_lengths(landmarks, encoding), coefficients, priors, width)


def squared_lengths(landmarks: NDArray[np.float32], encoding: RowEncoding) -> NDArray[np.float32]:
    """Return the squared lengths of the numbers of landmarks (coordinate, landmark), (landmark,)."""
    numbers = landmarks[encoding.is_categorical == 0].astype(np.float64)
    lengths: NDArray[np.float32] = np.sum(numbers**2, axis=0).astype(np.float32)
    return lengths


def squared_distances(
    points: NDArray[np.float32], landmarks: NDArray[np.float32], encoding: RowEncoding
) -> NDArray[np.float32]:
    """Return the squared distances of points (row, coordinate) to landmarks (coordinate, landmark), (row, landmark)."""
    out = np.empty((len(points), landmarks.shape[1]), dtype=np.float32)
    fill_squared_distances(points, landmarks, squared_lengths(landmarks, encoding), encoding.is_categorical, out)
    return out


def in_row_blocks(n_rows: int, n_threads: int, function: Callable[[slice], Result]) -> list[Result]:
    """Return the results of `function` for consecutive blocks of rows, in their order."""
    blocks = [slice(first, first + ROWS_PER_BLOCK) for first in range(0, n_rows, ROWS_PER_BLOCK)]
    if n_threads <= 1 or len(blocks) == 1:
        return [function(block) for block in blocks]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, blocks))
