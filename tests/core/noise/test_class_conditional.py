"""Class-conditional noise: Mahalanobis distances and limits of size."""

import numpy as np
import pytest

import core
from core import service_api
from core.noise.class_conditional import (
    MAX_CELLS,
    MAX_STEPS,
    _cholesky_squared_distance,
    _pseudo_inverse_squared_distance,
    mahalanobis_distances,
)

KIND = {"kind": "class_conditional"}


def covariance(n_features, n_rows, seed=0):
    """Return a covariance of correlated features (singular if rows are fewer) and a random mean difference."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n_rows, n_features)) @ generator.normal(size=(n_features, n_features))
    return rows.T @ rows / n_rows, generator.normal(size=n_features)


def defined_distances(rows, codes):
    """Return the distances between classes, computed directly from their definition."""
    classes = np.unique(codes)
    distances = np.zeros((len(classes), len(classes)))
    for i in classes:
        for j in classes[classes != i]:
            pair = rows[codes == i], rows[codes == j]
            centered = np.vstack([class_rows - class_rows.mean(axis=0) for class_rows in pair])
            inverse = np.linalg.pinv(centered.T @ centered / (len(centered) - 2), hermitian=True)
            mean_difference = pair[0].mean(axis=0) - pair[1].mean(axis=0)
            distances[i, j] = np.sqrt(mean_difference @ inverse @ mean_difference)
    return distances


@pytest.mark.parametrize("n_features", [1, 2, 7, 40])
@pytest.mark.parametrize("seed", range(5))
def test_cholesky_and_pseudo_inverse_agree(n_features, seed):
    pooled, mean_difference = covariance(n_features, 20 * n_features, seed)
    squared = _cholesky_squared_distance(pooled, mean_difference)
    assert squared == pytest.approx(_pseudo_inverse_squared_distance(pooled, mean_difference), rel=1e-9)


@pytest.mark.parametrize("defect", ["constant", "almost constant", "duplicate", "sum", "too few rows"])
def test_cholesky_rejects_singular_and_nearly_singular_covariances(defect):
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(4 if defect == "too few rows" else 100, 6))
    if defect == "constant":
        rows[:, 2] = 7.0
    if defect == "almost constant":
        rows[:, 2] *= 1e-5
    if defect == "duplicate":
        rows[:, 2] = rows[:, 4]
    if defect == "sum":
        rows[:, 5] = rows[:, :5].sum(axis=1)
    centered = rows - rows.mean(axis=0)
    assert _cholesky_squared_distance(centered.T @ centered, np.ones(6)) is None


@pytest.mark.parametrize("defect", ["nothing", "constant", "duplicate", "sum", "constant in two classes", "few rows"])
def test_distances_match_their_definition(defect):
    generator = np.random.default_rng(1)
    codes = np.arange(8 if defect == "few rows" else 120) % 4
    rows = generator.normal(size=(len(codes), 5)) + codes[:, np.newaxis] * [1.0, 0.5, 0.0, -0.2, 2.0]
    if defect == "constant":
        rows[:, :2] = 3.0
    if defect == "duplicate":
        rows[:, 2] = rows[:, 4]
    if defect == "sum":
        rows[:, 4] = rows[:, :4].sum(axis=1)
    if defect == "constant in two classes":
        rows[codes < 2, 3] = 1.0
    np.testing.assert_allclose(
        mahalanobis_distances(rows, codes, np.arange(4)), defined_distances(rows, codes), rtol=1e-9
    )


@pytest.mark.parametrize(
    ("n_classes", "n_features", "message"),
    [
        (1000, 300, r"1000 classes and 300 features.*1\.3e\+13 steps.*limit is 1e\+13.*\"matrix\""),
        (3, 6700, r"3 classes and 6700 features.*134,670,000 cells.*limit is 134,217,728.*\"matrix\""),
    ],
    ids=str,
)
def test_excessive_time_or_memory_is_refused(n_classes, n_features, message):
    with pytest.raises(core.InvalidNoise, match=message) as error:
        service_api.check_noise(KIND, range(n_classes), n_features)
    assert error.value.parameter == "kind"
    y = np.repeat(np.arange(n_classes), 2)
    with pytest.raises(core.InvalidNoise, match=message):
        core.inject_noise(y, KIND, X=np.ones((len(y), n_features)))


def test_largest_allowed_sizes_are_accepted():
    largest = int(np.sqrt(MAX_CELLS // 3))
    service_api.check_noise(KIND, range(3), largest)
    with pytest.raises(core.InvalidNoise):
        service_api.check_noise(KIND, range(3), largest + 1)
    n_features = int(np.cbrt(MAX_STEPS / (1000 * 999 // 2)))
    service_api.check_noise(KIND, range(1000), n_features)
    with pytest.raises(core.InvalidNoise):
        service_api.check_noise(KIND, range(1000), n_features + 1)


def test_other_kinds_accept_any_number_of_features():
    for spec in ({"kind": "uniform", "rate": 0.1}, {"kind": "adversarial", "rate": 0.1}):
        service_api.check_noise(spec, range(1000), 10**6)


@pytest.mark.parametrize("scale", [2.0**1021, 2.0**-1000])
def test_the_unit_of_a_feature_does_not_matter(scale):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 3)) + 2 * np.eye(3)[y]
    X = np.clip(X, -3.5, 3.5)
    scaled = X * np.array([scale, 1.0, 1.0])
    expected = core.class_conditional_transition(X, y).rows
    assert core.class_conditional_transition(scaled, y).rows.tolist() == expected.tolist()
