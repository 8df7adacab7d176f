"""Kernels of kernel ridge regression against NumPy in double precision."""

import numpy as np
import pytest

from core.kernels.ridge.distances import fill_exact_distances, fill_squared_distances
from core.kernels.ridge.encoding import RowEncoding
from core.kernels.ridge.linear_systems import ROWS_AT_ONCE, divide_rows, factorize, solve, subtract_moments
from core.kernels.ridge.products import add_products
from core.kernels.ridge.scoring import Regression, mix_in_scores
from core.kernels.ridge.similarity import fill_similarities

KINDS = {"numbers": [0, 0, 0, 0, 0], "categories": [1, 1, 1, 1, 1], "both": [0, 1, 0, 0, 1]}


def points(n_rows, is_categorical, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, 3, (n_rows, len(is_categorical)))
    return np.where(is_categorical, codes, rng.normal(size=codes.shape)).astype(np.float32)


def distances_by_hand(rows, landmarks, is_categorical):
    differences = rows.astype(float)[:, np.newaxis] - landmarks.T.astype(float)
    return np.sum(np.where(is_categorical, 2.0 * (differences != 0), differences**2), axis=2)


def random_case(kind, n_rows, n_landmarks, seed=0):
    """Return points of rows (row, coordinate) and of landmarks (coordinate, landmark), and which are categories."""
    is_categorical = np.array(KINDS[kind], dtype=np.uint8)
    landmarks = np.ascontiguousarray(points(n_landmarks, is_categorical, seed + 1).T)
    return points(n_rows, is_categorical, seed), landmarks, is_categorical


def squared_lengths(landmarks, is_categorical):
    return np.sum(landmarks[is_categorical == 0] ** 2, axis=0, dtype=np.float32)


@pytest.mark.parametrize("n_landmarks", [1, 2, 7, 40])
@pytest.mark.parametrize("n_rows", [0, 1, 2, 16, 17, 35])
@pytest.mark.parametrize("kind", KINDS)
def test_distances_of_rows(kind, n_rows, n_landmarks):
    rows, landmarks, is_categorical = random_case(kind, n_rows, n_landmarks)
    out = np.full((n_rows, n_landmarks), np.nan, dtype=np.float32)
    fill_squared_distances(rows, landmarks, squared_lengths(landmarks, is_categorical), is_categorical, out)
    np.testing.assert_allclose(out, distances_by_hand(rows, landmarks, is_categorical), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_distances_of_landmarks_have_no_rounding_errors(kind):
    _, landmarks, is_categorical = random_case(kind, 0, 33)
    landmarks[:, 1] = landmarks[:, 0]
    landmarks[0] += np.float32(1000.0)
    out = np.empty((33, 33))
    fill_exact_distances(landmarks, is_categorical, out)
    np.testing.assert_allclose(out, distances_by_hand(landmarks.T, landmarks, is_categorical), rtol=1e-12)
    assert out[0, 1] == 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_similarities_are_exponentials_to_single_precision(dtype):
    distances = np.concatenate([[0.0, -1e-3], np.geomspace(1e-8, 170.0, 1000), [1e6, 1e30]]).astype(dtype)[np.newaxis]
    out = np.empty(distances.shape)
    fill_similarities(distances, 2.0, out)
    expected = np.exp(-np.maximum(distances.astype(float), 0.0) / 2.0)
    np.testing.assert_allclose(out[0, :-2], expected[0, :-2], rtol=6e-6)  # the exponent itself is rounded
    near = distances[0] < 2.0
    np.testing.assert_allclose(out[0, near], expected[0, near], rtol=2e-7)
    assert (out[0, :2] == 1.0).all()
    assert (out[0, -2:] < 1e-37).all()
    assert (np.diff(out[0, 2:]) <= 0.0).all()


@pytest.mark.parametrize("n_classes", [1, 2, 3, 8, 11])
@pytest.mark.parametrize("n_rows", [0, 1, 3, 4, 9])
def test_products_are_added(n_rows, n_classes):
    rng = np.random.default_rng(n_rows)
    rows, factors, out = rng.normal(size=(n_rows, 13)), rng.normal(size=(n_classes, 13)), np.ones((n_rows, n_classes))
    add_products(rows, factors, out)
    np.testing.assert_allclose(out, 1.0 + rows @ factors.T, atol=1e-12)


def regression(kind, n_landmarks, n_classes):
    """Return a regression of the features 0, 2, 3, 4 and 6 of seven, and the rows (row, feature) of a table."""
    rng = np.random.default_rng(3)
    _, landmarks, is_categorical = random_case(kind, 0, n_landmarks)
    is_category = is_categorical == 1
    centers = np.where(is_category, 0.0, rng.normal(size=5))
    scales = np.where(is_category, 1.0, [2.0, 0.5, 0.0, 1.0, 3.0])
    encoding = RowEncoding(np.array([0, 2, 3, 4, 6]), is_categorical, centers, scales)
    model = Regression(
        encoding,
        landmarks,
        squared_lengths(landmarks, is_categorical),
        rng.normal(size=(n_classes, n_landmarks)),
        rng.uniform(size=n_classes),
        1.5,
    )
    X = rng.normal(size=(37, 7))
    X[:, encoding.features[is_category]] = rng.integers(0, 3, (37, is_category.sum()))
    X[5], X[6, :3], X[7, 0], X[8, 0] = np.nan, np.nan, 1e30, 20.0
    return model, X.astype(np.float32) if kind == "categories" else X


def encoded(X, encoding):
    values, is_category = X[:, encoding.features].astype(float), encoding.is_categorical == 1
    factors = np.divide(1.0, encoding.scales, out=np.zeros(5), where=encoding.scales > 0)
    deviations = (values - encoding.centers) * factors
    numbers = np.where(np.abs(deviations) <= 25.0, np.clip(deviations, -8.0, 8.0), 0.0)
    return np.where(is_category, np.where(np.isnan(values), -1.0, values), numbers).astype(np.float32)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_mixed_into_votes_as_the_formulas_say(kind, n_classes):
    model, X = regression(kind, 29, n_classes)
    votes = np.random.default_rng(0).uniform(size=(len(X), n_classes))
    points_of_rows = encoded(X, model.encoding)
    similarities = np.exp(
        -distances_by_hand(points_of_rows, model.landmarks, model.encoding.is_categorical) / model.width
    )
    expected = 0.25 * (similarities @ model.coefficients.T + model.priors) + 0.75 * votes
    mix_in_scores(X, model, 0.25, votes)
    np.testing.assert_allclose(votes, expected, atol=1e-4)


@pytest.mark.parametrize("size", [1, 2, 5, 8, 10])
def test_systems_of_any_size_are_solved(size):
    rng = np.random.default_rng(size)
    n_rows = 3 * ROWS_AT_ONCE
    rows, targets, weights = rng.normal(size=(n_rows, size)), rng.normal(size=(n_rows, 3)), rng.uniform(size=n_rows)
    squares, products = np.zeros((size, size)), np.zeros((size, 3))
    subtract_moments(rows, targets, weights, squares, products)
    upper = np.triu_indices(size)
    np.testing.assert_allclose(-squares[upper], ((rows.T * weights) @ rows)[upper], atol=1e-12)
    np.testing.assert_allclose(-products, (rows.T * weights) @ targets, atol=1e-12)
    matrix = (rows.T * weights) @ rows + np.eye(size)
    factor, solved, divided = matrix.copy(), products.copy(), rows.copy()
    factorize(factor)
    solve(factor, solved)
    divide_rows(divided, factor)
    np.testing.assert_allclose(solved, np.linalg.solve(matrix, products), atol=1e-12)
    np.testing.assert_allclose(divided, rows @ np.linalg.inv(np.triu(factor)), atol=1e-10)
