"""Fit of a kernel ridge regression of classes, whose width and penalty are chosen by predictions of left-out rows.

The regression is that of Saunders, Gammerman and Vovk 1998, "Ridge regression learning algorithm in dual variables".
With more rows than landmarks, it is restricted to functions of the landmarks (Williams and Seeger 2000, "Using the
Nyström method to speed up kernel machines"). The prediction of a row by a fit without that row follows from the
residual and the leverage of the row in one fit to all rows (Allen 1974, "The relationship between variable selection
and data augmentation and a method for prediction").
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.kernel_ridge.model import KernelRidge, in_row_blocks, new_kernel_ridge, squared_distances, squared_lengths
from core.kernel_ridge.row_encoding import encode, row_encoding
from core.kernels.ridge.distances import fill_exact_distances
from core.kernels.ridge.encoding import RowEncoding
from core.kernels.ridge.linear_systems import ROWS_AT_ONCE, divide_rows, factorize, solve, solve_upper, subtract_moments
from core.kernels.ridge.products import add_products
from core.kernels.ridge.similarity import fill_similarities
from core.monitoring import raise_if_stopped
from core.validation.training_data import TrainingData

Result = TypeVar("Result")

#: Most landmarks and most features. Their product is most of the time of a prediction; more of both would be more
#: accurate on images: decision 26.
MAX_LANDMARKS, MAX_FEATURES = 384, 256
#: With fewer rows, there is no regression.
_MIN_ROWS = 16
#: Squared distances of two landmarks up to it, relative to the sum of their squared lengths, are as small as rounding
#: errors in the distances of rows. They have no part in the widths.
_LEAST_RELATIVE_DISTANCE = 1e-6
#: Nor have smaller ones, whose inverse single precision could not represent.
_LEAST_DISTANCE = 2.0**-60
#: Rows that widths and penalties are compared on; then the best is fitted to all rows.
_MAX_COMPARED_ROWS = 1024
#: Squared distances with similarity 1 / e, as multiples of the median between landmarks.
_WIDTHS = (0.5, 1.0, 3.0)
#: Penalties as multiples of the weight of all rows, and the one where the descent to the best begins.
_PENALTIES = tuple(10.0 ** (exponent / 1.5) for exponent in range(-6, 1))
_FIRST_PENALTY = 3
#: Added to the similarity of a landmark to itself, so that neither equal landmarks nor single precision make equations
#: singular, and coefficients are small enough for predictions in single precision. It is small beside penalties, which
#: are multiples of the number of rows.
_JITTER = 1e-4
#: Largest leverage: a row that determines its own prediction alone would have an infinite residual without rounding.
_MAX_LEVERAGE = 0.999


class _Distances(NamedTuple):
    """Training rows compared with landmarks. Their number is a multiple of `ROWS_AT_ONCE`; rows that fill it up have
    weight 0.
    """

    between: NDArray[np.float64]  # (landmark, landmark), squared distances without rounding errors
    usual: float  # median of the squared distances of landmarks that differ
    of_rows: NDArray[np.float32]  # (row, landmark), squared
    weights: NDArray[np.float64]  # (row,)
    n_threads: int
    stop_flag: NDArray[np.uint8] | None

    def in_blocks(self, function: Callable[[slice], Result]) -> list[Result]:
        """Return the results of `function` for blocks of rows. Raises FitStopped."""

        def unless_stopped(rows: slice) -> Result:
            raise_if_stopped(self.stop_flag)
            return function(rows)

        return in_row_blocks(len(self.of_rows), self.n_threads, unless_stopped)


class _Problem(NamedTuple):
    """Targets of the rows, as deviations from their weighted means."""

    distances: _Distances
    priors: NDArray[np.float64]  # (class,)
    deviations: NDArray[np.float64]  # (row, class)

    def part(self, rows: NDArray[np.int64]) -> "_Problem":
        """Return the problem with a part of the rows, whose number is a multiple of `ROWS_AT_ONCE`."""
        all_rows = self.distances
        part = all_rows._replace(of_rows=all_rows.of_rows[rows], weights=all_rows.weights[rows])
        return self._replace(distances=part, deviations=self.deviations[rows])


def _problem(distances: _Distances, targets: NDArray[np.float64]) -> _Problem:
    priors = np.average(targets, axis=0, weights=distances.weights[: len(targets)])
    padding = (0, len(distances.weights) - len(targets))
    return _Problem(distances, priors, np.pad(targets - priors, (padding, (0, 0))))


class _Solution(NamedTuple):
    error: float  # mean squared error of left-out rows
    width: float
    penalty: float
    coefficients: NDArray[np.float64]  # (class, landmark)
    residuals: NDArray[np.float64]  # (row, class), of left-out rows


class FittedRidge(NamedTuple):
    """The best regression of some targets, and what it predicts of each training row without its target."""

    model: KernelRidge
    targets: NDArray[np.float64]  # (row, class)
    distances: _Distances
    solution: _Solution

    @property
    def left_out_scores(self) -> NDArray[np.float64]:
        """Score of each row by a fit without its target, (row, class)."""
        return np.asarray(self.targets - self.solution.residuals[: len(self.targets)])

    def with_targets(self, targets: NDArray[np.float64]) -> "FittedRidge":
        """Return the regression of other targets (row, class) with the same width and penalty. Raises FitStopped."""
        problem = _problem(self.distances, targets)
        solution = _solution(problem, _features(problem, self.solution.width), self.solution.penalty)
        model = self.model._replace(coefficients=solution.coefficients, priors=problem.priors)
        return self._replace(model=model, targets=targets, solution=solution)


def fit_kernel_ridge(
    data: TrainingData,
    targets: NDArray[np.float64],
    features: NDArray[np.int64],
    generator: np.random.Generator,
    n_threads: int = 1,
    stop_flag: NDArray[np.uint8] | None = None,
) -> FittedRidge | None:
    """Return the regression of targets (row, class), class indicators or probabilities that sum to 1, on the rows of
    `data`, from which `generator` draws the landmarks.

    features: numbers of the features that rows are compared by, ascending, (coordinate,).

    Returns None for too few rows, if all rows are alike, and if no solution is finite. Raises FitStopped when
    `stop_flag` (1,) is set.
    """
    if len(data.X) < _MIN_ROWS:
        return None
    encoding = row_encoding(data.X, data.is_categorical, features)
    points = encode(data.X, encoding)
    chosen = generator.choice(len(points), min(len(points), MAX_LANDMARKS), replace=False)
    landmarks = np.ascontiguousarray(points[np.sort(chosen)].T)
    distances = _distances(data, points, landmarks, encoding, n_threads, stop_flag)
    if distances is None:
        return None
    problem = _problem(distances, targets)
    best = _best_solution(problem, generator)
    model = new_kernel_ridge(encoding, landmarks, best.coefficients, problem.priors, best.width)
    return FittedRidge(model, targets, distances, best) if np.isfinite(best.error) else None


def _distances(
    data: TrainingData,
    points: NDArray[np.float32],
    landmarks: NDArray[np.float32],
    encoding: RowEncoding,
    n_threads: int,
    stop_flag: NDArray[np.uint8] | None,
) -> _Distances | None:
    """Return the distances of points (row, coordinate) to landmarks (coordinate, landmark); None if all are alike."""
    between = np.empty((landmarks.shape[1], landmarks.shape[1]))
    fill_exact_distances(landmarks, encoding.is_categorical, between)
    lengths = squared_lengths(landmarks, encoding)
    least = np.maximum(_LEAST_RELATIVE_DISTANCE * (lengths[:, np.newaxis] + lengths), _LEAST_DISTANCE)
    distinct = between[between > least]
    if not len(distinct):
        return None
    padding = (0, -len(points) % ROWS_AT_ONCE)
    points = np.pad(points, (padding, (0, 0)))
    blocks = in_row_blocks(len(points), n_threads, lambda rows: squared_distances(points[rows], landmarks, encoding))
    weights = np.pad(data.weights / data.weights.mean(), padding)
    return _Distances(between, float(np.median(distinct)), np.concatenate(blocks), weights, n_threads, stop_flag)


def _best_solution(problem: _Problem, generator: np.random.Generator) -> _Solution:
    compared, n_rows = problem, len(problem.deviations)
    if n_rows > _MAX_COMPARED_ROWS:
        compared = problem.part(np.sort(generator.choice(n_rows, _MAX_COMPARED_ROWS, replace=False)))
    solutions = [_with_best_penalty(compared, factor * problem.distances.usual) for factor in _WIDTHS]
    best = min(solutions, key=lambda one: np.nan_to_num(one.error, nan=np.inf))
    return best if compared is problem else _solution(problem, _features(problem, best.width), best.penalty)


def _with_best_penalty(problem: _Problem, width: float) -> _Solution:
    """Return the solution with the smallest error, found by a descent in both directions from the first penalty."""
    features = _features(problem, width)
    best = _solution(problem, features, _PENALTIES[_FIRST_PENALTY])
    for penalties in (_PENALTIES[:_FIRST_PENALTY][::-1], _PENALTIES[_FIRST_PENALTY + 1 :]):
        for penalty in penalties:
            solution = _solution(problem, features, penalty)
            if not solution.error < best.error:
                break
            best = solution
    return best


class _Features(NamedTuple):
    """Rows as vectors whose inner products are their similarities, and the sums over them that solutions need."""

    width: float
    factor: NDArray[np.float64]  # (landmark, landmark), triangular factor of the similarities of the landmarks
    rows: NDArray[np.float64]  # (row, landmark)
    squares: NDArray[np.float64]  # (landmark, landmark), upper triangle of the weighted sum of x x'
    products: NDArray[np.float64]  # (landmark, class), weighted sum of x times the deviations


def _features(problem: _Problem, width: float) -> _Features:
    distances, n_classes = problem.distances, problem.deviations.shape[1]
    size = len(distances.between)
    factor, rows = np.empty((size, size)), np.empty(distances.of_rows.shape)
    squares, products = np.zeros((size, size)), np.zeros((size, n_classes))
    fill_similarities(distances.between, width, factor)
    factor[np.diag_indices(size)] = 1.0 + _JITTER
    factorize(factor)

    def fill(block: slice) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        fill_similarities(distances.of_rows[block], width, rows[block])
        divide_rows(rows[block], factor)
        sums = np.zeros_like(squares), np.zeros_like(products)
        subtract_moments(rows[block], problem.deviations[block], distances.weights[block], *sums)
        return sums

    for of_block in distances.in_blocks(fill):
        squares -= of_block[0]
        products -= of_block[1]
    return _Features(width, factor, rows, squares, products)


def _solution(problem: _Problem, features: _Features, penalty: float) -> _Solution:
    weights = problem.distances.weights
    system, solved = features.squares.copy(), features.products.copy()
    system[np.diag_indices(len(system))] += penalty * weights.sum()
    factorize(system)
    solve(system, solved)
    factors = np.ascontiguousarray(solved.T)

    def residuals_of(block: slice) -> NDArray[np.float64]:
        fitted = np.zeros_like(problem.deviations[block])
        add_products(features.rows[block], factors, fitted)
        divided = features.rows[block].copy()
        divide_rows(divided, system)
        leverages = np.minimum(weights[block] * np.sum(divided**2, axis=1), _MAX_LEVERAGE)
        return np.asarray((problem.deviations[block] - fitted) / (1.0 - leverages)[:, np.newaxis])

    residuals = np.concatenate(problem.distances.in_blocks(residuals_of))
    error = float(np.average(np.sum(residuals**2, axis=1), weights=weights))
    solve_upper(features.factor, solved)
    return _Solution(error, features.width, penalty, np.ascontiguousarray(solved.T), residuals)
