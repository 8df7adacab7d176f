"""Injected label noise: what it changes, how much, and what it refuses."""

import numpy as np
import pytest

import core
from tests.shared_material import reference


def test_uniform_matrices_match_the_reference():
    cases = reference("noise.json")["uniform"]
    for case in cases:
        expected = np.array(case["T"])
        rate = case.get("rate", 1 - expected[0][0])
        np.testing.assert_allclose(core.TransitionMatrix.uniform(rate, range(len(expected))).rows, expected, atol=1e-12)
    assert cases


@pytest.mark.parametrize("labels", [["a", "b", "c"], [0, 1], [True, False]], ids=str)
def test_the_share_of_flips_is_the_rate_for_every_class(labels):
    y = np.array(labels * 4000)
    noisy = core.inject_noise(y, {"kind": "uniform", "rate": 0.3}, random_state=0)
    assert noisy.labels.dtype == y.dtype
    np.testing.assert_array_equal(noisy.flipped, noisy.labels != y)
    for row, label in zip(noisy.transition.rows, noisy.transition.classes, strict=True):
        observed = [(noisy.labels[y == label] == other).mean() for other in noisy.transition.classes]
        np.testing.assert_allclose(observed, row, atol=0.03)


def test_seeds_and_zero_rate():
    y = np.arange(300) % 3
    draws = [core.inject_noise(y, {"kind": "uniform", "rate": 0.5}, random_state=s).labels.tobytes() for s in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert not core.inject_noise(y, {"kind": "uniform", "rate": 0}).flipped.any()


@pytest.mark.parametrize(
    "spec",
    [
        {"kind": "uniform", "rate": 0.5},
        {"kind": "uniform", "rate": -0.1},
        {"kind": "uniform", "rate": float("nan")},
        {"kind": "uniform", "rate": "0.1"},
        {"kind": "uniform"},
        {"kind": "uniform", "rate": 0.1, "extra": 1},
        {"kind": "thermal"},
        {"rate": 0.1},
        "uniform",
    ],
    ids=str,
)
def test_bad_noise_is_refused(spec):
    with pytest.raises(core.InvalidNoise) as caught:
        core.inject_noise([0, 1, 1], spec)
    assert caught.value.code == "invalid_noise"


@pytest.mark.parametrize(
    "rows", [[[0.5, 0.4], [0, 1]], [[1.5, -0.5], [0, 1]], [[1, 0]], [1, 0], [["x"]], [], [[np.nan, 1], [0, 1]]], ids=str
)
def test_bad_matrices_are_refused(rows):
    with pytest.raises(core.InvalidNoise):
        core.TransitionMatrix.from_rows(rows)


def test_a_transposed_matrix_is_explained():
    with pytest.raises(core.InvalidNoise, match=r"row 0 .* sums to 1.1.*transpose"):
        core.TransitionMatrix.from_rows([[0.9, 0.2], [0.1, 0.8]])


def test_matrices_are_values():
    one = core.TransitionMatrix.from_rows([[0.9, 0.1], [0.2, 0.8]], classes=["no", "yes"])
    assert one == core.TransitionMatrix.from_rows([[0.9, 0.1], [0.2, 0.8]], classes=["no", "yes"])
    assert one != core.TransitionMatrix.from_rows([[0.9, 0.1], [0.2, 0.8]])
    with pytest.raises(ValueError, match="read-only"):
        one.rows[0, 0] = 1.0


def test_parameters_of_noise_are_described():
    (rate,) = core.noise_parameters("uniform")
    assert (rate.name, rate.bounds) == ("rate", core.Bounds(ge=0, lt=1))
    assert rate.help
