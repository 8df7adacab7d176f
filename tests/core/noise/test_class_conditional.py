"""Noise between classes that look alike: how distances are computed, and how much is too much."""

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
    """Of correlated features, (feature, feature), singular for fewer rows than features."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n_rows, n_features)) @ generator.normal(size=(n_features, n_features))
    return rows.T @ rows / n_rows, generator.normal(size=n_features)


def defined(rows, codes):
    """Distances by the definition, (class, class)."""
    classes = np.unique(codes)
    distances = np.zeros((len(classes), len(classes)))
    for i in classes:
        for j in classes[classes != i]:
            pair = rows[codes == i], rows[codes == j]
            centred = np.vstack([of_class - of_class.mean(axis=0) for of_class in pair])
            inverse = np.linalg.pinv(centred.T @ centred / (len(centred) - 2), hermitian=True)
            apart = pair[0].mean(axis=0) - pair[1].mean(axis=0)
            distances[i, j] = np.sqrt(apart @ inverse @ apart)
    return distances


@pytest.mark.parametrize("n_features", [1, 2, 7, 40])
@pytest.mark.parametrize("seed", range(5))
def test_cholesky_and_the_pseudo_inverse_agree(n_features, seed):
    pooled, apart = covariance(n_features, 20 * n_features, seed)
    squared = _cholesky_squared_distance(pooled, apart)
    assert squared == pytest.approx(_pseudo_inverse_squared_distance(pooled, apart), rel=1e-9)


@pytest.mark.parametrize("spoil", ["constant", "almost constant", "twice", "sum", "too few rows"])
def test_covariances_that_are_singular_or_nearly_so_are_left_to_the_pseudo_inverse(spoil):
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(4 if spoil == "too few rows" else 100, 6))
    if spoil == "constant":
        rows[:, 2] = 7.0
    if spoil == "almost constant":
        rows[:, 2] *= 1e-5
    if spoil == "twice":
        rows[:, 2] = rows[:, 4]
    if spoil == "sum":
        rows[:, 5] = rows[:, :5].sum(axis=1)
    centred = rows - rows.mean(axis=0)
    assert _cholesky_squared_distance(centred.T @ centred, np.ones(6)) is None


@pytest.mark.parametrize("spoil", ["nothing", "constant", "twice", "sum", "constant in two classes", "few rows"])
def test_distances_are_those_of_the_definition(spoil):
    generator = np.random.default_rng(1)
    codes = np.arange(8 if spoil == "few rows" else 120) % 4
    rows = generator.normal(size=(len(codes), 5)) + codes[:, np.newaxis] * [1.0, 0.5, 0.0, -0.2, 2.0]
    if spoil == "constant":
        rows[:, :2] = 3.0
    if spoil == "twice":
        rows[:, 2] = rows[:, 4]
    if spoil == "sum":
        rows[:, 4] = rows[:, :4].sum(axis=1)
    if spoil == "constant in two classes":
        rows[codes < 2, 3] = 1.0
    np.testing.assert_allclose(mahalanobis_distances(rows, codes, np.arange(4)), defined(rows, codes), rtol=1e-9)


@pytest.mark.parametrize(
    ("n_classes", "n_features", "words"),
    [
        (1000, 300, r"1000 classes and 300 features.*1\.3e\+13 steps.*limit is 1e\+13.*\"matrix\""),
        (3, 6700, r"3 classes and 6700 features.*134,670,000 cells.*limit is 134,217,728.*\"matrix\""),
    ],
    ids=str,
)
def test_what_would_take_too_long_or_too_much_memory_is_refused(n_classes, n_features, words):
    with pytest.raises(core.InvalidNoise, match=words) as caught:
        service_api.check_noise(KIND, range(n_classes), n_features)
    assert caught.value.parameter == "kind"
    y = np.repeat(np.arange(n_classes), 2)
    with pytest.raises(core.InvalidNoise, match=words):
        core.inject_noise(y, KIND, X=np.ones((len(y), n_features)))


def test_the_largest_sizes_are_taken():
    largest = int(np.sqrt(MAX_CELLS // 3))
    service_api.check_noise(KIND, range(3), largest)
    with pytest.raises(core.InvalidNoise):
        service_api.check_noise(KIND, range(3), largest + 1)
    n_features = int(np.cbrt(MAX_STEPS / (1000 * 999 // 2)))
    service_api.check_noise(KIND, range(1000), n_features)
    with pytest.raises(core.InvalidNoise):
        service_api.check_noise(KIND, range(1000), n_features + 1)


def test_other_kinds_take_any_number_of_features():
    for spec in ({"kind": "uniform", "rate": 0.1}, {"kind": "adversarial", "rate": 0.1}):
        service_api.check_noise(spec, range(1000), 10**6)
