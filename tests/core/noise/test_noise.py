"""Injection of label noise: rates, matrices, refused input and declarations."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning

import core
from core import service_api
from core.noise.class_conditional import mahalanobis_distances
from tests.shared_material import reference


def test_uniform_matrices_match_the_reference():
    cases = reference("noise.json")["uniform"]
    for case in cases:
        expected = np.array(case["T"])
        rate = case.get("rate", 1 - expected[0][0])
        np.testing.assert_allclose(core.TransitionMatrix.uniform(rate, range(len(expected))).rows, expected, atol=1e-12)
    assert cases


@pytest.mark.parametrize("labels", [["a", "b", "c"], [0, 1], [True, False]], ids=str)
def test_fraction_of_flips_equals_the_rate_in_every_class(labels):
    y = np.array(labels * 4000)
    noisy = core.inject_noise(y, {"kind": "uniform", "rate": 0.3}, random_state=0)
    assert noisy.labels.dtype == y.dtype
    np.testing.assert_array_equal(noisy.flipped, noisy.labels != y)
    for row, label in zip(noisy.transition.rows, noisy.transition.classes, strict=True):
        observed = [(noisy.labels[y == label] == other).mean() for other in noisy.transition.classes]
        np.testing.assert_allclose(observed, row, atol=0.03)


def clusters(n_rows, n_classes, seed=0):
    """Return normal clusters whose means have unequal distances."""
    generator = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    return generator.normal(size=(n_rows, 3)) + np.outer(2.0 * y + 0.3 * y**2, [1.0, 0.5, -0.2]), y


#: kind -> noise for three classes, and for two
THREE_CLASS_NOISE = {
    "uniform": {"kind": "uniform", "rate": 0.3},
    "one_sided": {"kind": "one_sided", "class": 1, "rate": 0.4},
    "matrix": {"kind": "matrix", "transition": [[0.7, 0.1, 0.2], [0.0, 1.0, 0.0], [0.3, 0.3, 0.4]]},
    "class_conditional": {"kind": "class_conditional"},
}
BINARY_NOISE = {
    "pairwise": {"kind": "pairwise", "rates": [0.1, 0.3]},
    "one_sided": {"kind": "one_sided", "class": 1, "rate": 0.4},
    "matrix": {"kind": "matrix", "transition": np.array([[0.9, 0.1], [0.45, 0.55]])},
}


@pytest.mark.parametrize(
    ("n_classes", "spec"),
    [(n, spec) for n, specs in ((3, THREE_CLASS_NOISE), (2, BINARY_NOISE)) for spec in specs.values()],
    ids=str,
)
def test_observed_rates_match_the_matrix(n_classes, spec):
    X, y = clusters(24_000, n_classes)
    noisy = core.inject_noise(y, spec, X=X, random_state=3)
    np.testing.assert_array_equal(noisy.flipped, noisy.labels != y)
    observed = core.TransitionMatrix.observed(y, noisy.labels, np.unique(y))
    standard_error = np.sqrt(noisy.transition.rows * (1 - noisy.transition.rows) / (len(y) / len(np.unique(y))))
    assert (np.abs(observed.rows - noisy.transition.rows) <= 4 * standard_error).all()
    expected = noisy.transition.noise_rate(np.bincount(y))
    assert noisy.flipped.mean() == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / len(y)))


def test_matrix_matches_the_requested_noise():
    y = np.array(["a", "b"] * 50)
    pair = core.inject_noise(y, BINARY_NOISE["pairwise"]).transition
    assert pair == core.TransitionMatrix.from_rows([[0.9, 0.1], [0.3, 0.7]], classes=["a", "b"])
    one = core.inject_noise(np.array(["a", "b", "c"]), {"kind": "one_sided", "class": "b", "rate": 0.4}).transition
    np.testing.assert_allclose(one.rows, [[1, 0, 0], [0.2, 0.6, 0.2], [0, 0, 1]])


def test_one_sided_noise_takes_every_rate_below_1():
    y = np.array(["a", "b"] * 500)
    noisy = core.inject_noise(y, {"kind": "one_sided", "class": "b", "rate": 0.9}, random_state=0)
    np.testing.assert_allclose(noisy.transition.rows, [[1, 0], [0.9, 0.1]])
    assert noisy.flipped[y == "b"].mean() == pytest.approx(0.9, abs=0.05)
    assert not noisy.flipped[y == "a"].any()


def test_pairwise_and_pushed_forward_matrices_match_the_reference():
    vectors = reference("noise.json")
    for case in vectors["binary"]:
        rates = [case["rate_0_to_1"], case["rate_1_to_0"]]
        noisy = core.inject_noise([0, 1], {"kind": "pairwise", "rates": rates})
        np.testing.assert_allclose(noisy.transition.rows, case["T"], atol=1e-12)
    for case in vectors["pushforward"]:
        rows = core.TransitionMatrix.from_rows(case["T"]).rows
        np.testing.assert_allclose(np.array(case["p"]) @ rows, case["p_noisy"], atol=1e-12)
    assert vectors["binary"]
    assert vectors["pushforward"]


def test_class_conditional_matrices_match_the_reference():
    cases = reference("noise.json")["algorithm1"]
    for case in cases:
        X, y = np.array(case["X"]), np.array(case["y"])
        distances = mahalanobis_distances(X, y, np.unique(y))
        np.testing.assert_allclose(distances, case["mahalanobis"], atol=1e-9)
        np.testing.assert_allclose(core.class_conditional_transition(X, y).rows, case["T"], atol=1e-9)
        in_other_units = X * np.geomspace(1e-9, 1e9, X.shape[1])
        np.testing.assert_allclose(core.class_conditional_transition(in_other_units, y).rows, case["T"], atol=1e-9)
    assert cases


def test_class_conditional_noise_accepts_constant_and_missing_features():
    X, y = clusters(300, 4)
    plain = core.class_conditional_transition(X, y)
    constant = np.column_stack([X, np.full(300, 7.0), X[:, 0]])
    np.testing.assert_allclose(core.class_conditional_transition(constant, y).rows, plain.rows, atol=1e-9)
    X[::5, 1] = np.nan
    rows = core.class_conditional_transition(X, y).rows
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    assert sorted({round(v, 9) for v in (rows.diagonal().min(), rows.diagonal().max())}) == [0.5, 0.9]


def test_adversarial_noise_flips_the_rows_with_the_largest_margins():
    X, y = clusters(400, 2)
    y = np.where(np.arange(400) % 11 == 0, 1 - y, y)
    noisy = core.inject_noise(y, {"kind": "adversarial", "rate": 0.1}, X=X)
    margins = (2 * y - 1) * core.LogitBoostClassifier(n_rounds=100, random_state=0).fit(X, y).decision_function(X)
    assert noisy.flipped.sum() == 40
    assert margins[noisy.flipped].min() >= margins[~noisy.flipped].max()
    np.testing.assert_array_equal(noisy.labels, np.where(noisy.flipped, 1 - y, y))
    assert noisy.transition.noise_rate(np.bincount(y)) == pytest.approx(0.1)


def test_multiclass_adversarial_noise_flips_to_the_second_best_class():
    X, y = clusters(300, 3)
    names = np.array(["a", "b", "c"])[y]
    noisy = core.inject_noise(names, {"kind": "adversarial", "rate": 0.2}, X=X)
    scores = core.LogitBoostClassifier(n_rounds=100, random_state=0).fit(X, y).decision_function(X)
    own = scores[np.arange(300), y].copy()
    scores[np.arange(300), y] = -np.inf
    margins = own - scores.max(axis=1)
    assert noisy.flipped.sum() == 60
    assert margins[noisy.flipped].min() >= margins[~noisy.flipped].max()
    expected = np.where(noisy.flipped, np.array(["a", "b", "c"])[scores.argmax(axis=1)], names)
    np.testing.assert_array_equal(noisy.labels, expected)


def test_seed_determines_the_labels_and_zero_rate_flips_none():
    y = np.arange(300) % 3
    draws = [core.inject_noise(y, {"kind": "uniform", "rate": 0.5}, random_state=s).labels.tobytes() for s in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert not core.inject_noise(y, {"kind": "uniform", "rate": 0}).flipped.any()


def test_classes_without_rows_are_included():
    noisy = core.inject_noise([0, 1] * 500, THREE_CLASS_NOISE["matrix"], random_state=0, classes=[0, 1, 2])
    assert set(noisy.labels.tolist()) == {0, 1, 2}
    with pytest.raises(core.InvalidNoise, match="label 5"):
        core.inject_noise([0, 5], THREE_CLASS_NOISE["matrix"], classes=[0, 1, 2])


def test_matrix_with_class_names_may_order_its_classes_freely():
    matrix = core.TransitionMatrix.from_rows([[1, 0], [0.4, 0.6]], classes=["yes", "no"])
    noisy = core.inject_noise(["no", "yes"], {"kind": "matrix", "transition": matrix})
    np.testing.assert_allclose(noisy.transition.rows, [[0.6, 0.4], [0, 1]])
    other = core.TransitionMatrix.from_rows(np.eye(2), classes=["yes", "maybe"])
    with pytest.raises(core.InvalidNoise, match="same classes"):
        core.inject_noise(["no", "yes"], {"kind": "matrix", "transition": other})


@pytest.mark.parametrize(
    "spec",
    [
        {"kind": "uniform", "rate": 0.5},
        {"kind": "uniform", "rate": -0.1},
        {"kind": "uniform", "rate": float("nan")},
        {"kind": "uniform", "rate": "0.1"},
        {"kind": "uniform"},
        {"kind": "uniform", "rate": 0.1, "extra": 1},
        {"kind": "uniform", "rate": True},
        {"kind": "thermal"},
        {"kind": "pairwise", "rates": [0.1]},
        {"kind": "pairwise", "rates": [0.1, 0.5]},
        {"kind": "pairwise", "rates": [0.1, -0.1]},
        {"kind": "pairwise", "rates": 0.1},
        {"kind": "pairwise", "rates": ["a", "b"]},
        {"kind": "one_sided", "class": 2, "rate": 0.1},
        {"kind": "one_sided", "class": True, "rate": 0.1},
        {"kind": "one_sided", "class": 1, "rate": 1.0},
        {"kind": "one_sided", "rate": 0.1},
        {"kind": "matrix", "transition": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]},
        {"kind": "matrix", "transition": [[0.9, 0.1]]},
        {"kind": "matrix", "transition": [[0.9, 0.2], [0.1, 0.8]]},
        {"kind": "matrix", "transition": "estimate"},
        {"kind": "class_conditional"},
        {"kind": "adversarial", "rate": 0.5},
        {"rate": 0.1},
        "uniform",
    ],
    ids=str,
)
def test_invalid_noise_is_refused(spec):
    with pytest.raises(core.InvalidNoise) as error:
        core.inject_noise([0, 1, 1], spec, X=[[0.0], [1.0], [2.0]])
    assert error.value.code == "invalid_noise"
    with pytest.raises(core.InvalidNoise):
        service_api.check_noise(spec, [0, 1])


@pytest.mark.parametrize(
    ("spec", "classes", "parameter", "message"),
    [
        ({"kind": "pairwise", "rates": [0.1, 0.2]}, "abc", "kind", "3 classes.*matrix"),
        ({"kind": "uniform", "rate": 0.7}, "abc", "rate", "below 0.666667"),
        ({"kind": "one_sided", "class": "d", "rate": 0.1}, "abc", "class", "'d'; the classes are 'a', 'b', 'c'"),
        ({"kind": "matrix", "transition": np.eye(2)}, "abc", "transition", "2 x 2 .* 3 classes"),
        ({"kind": "one_sided", "class": "a", "rate": 0.1}, "a", "rate", "0.1, and the labels have one class"),
        ({"kind": "class_conditional"}, "ab", "kind", "have 2.*pairwise"),
        ({"kind": "adversarial", "rate": 0.5}, "ab", "rate", "below 0.5"),
        ({"kind": "adversarial", "rate": 0.1}, "a", "kind", "one class"),
    ],
    ids=str,
)
def test_errors_name_the_parameter_and_the_rule(spec, classes, parameter, message):
    with pytest.raises(core.InvalidNoise, match=message) as error:
        service_api.check_noise(spec, list(classes))
    assert error.value.parameter == parameter


@pytest.mark.parametrize(
    "spec", [THREE_CLASS_NOISE["class_conditional"], {"kind": "adversarial", "rate": 0.1}], ids=str
)
def test_kinds_that_depend_on_features_require_them(spec):
    with pytest.raises(core.InvalidNoise, match="depends on the features; pass X"):
        core.inject_noise([0, 1, 2], spec)
    with pytest.raises(core.InvalidInput):
        core.inject_noise([0, 1, 2], spec, X=[[1.0], [2.0]])


def test_classes_without_distinct_distances_are_refused():
    y = np.arange(300) % 3
    with pytest.raises(core.InvalidNoise, match="classes 0 and 1 have the same mean"):
        core.inject_noise(y, {"kind": "class_conditional"}, X=np.ones((300, 2)))
    corners = np.repeat([[0.0, 0.0], [2.0, 0.0], [1.0, np.sqrt(3)]], 8, axis=0)
    spread = np.tile([[0, 1], [1, 0], [0, -1], [-1, 0]] * 2, (3, 1))
    with pytest.raises(core.InvalidNoise, match="equally far"):
        core.inject_noise(np.repeat([0, 1, 2], 8), {"kind": "class_conditional"}, X=corners + spread)


@pytest.mark.parametrize(
    "rows", [[[0.5, 0.4], [0, 1]], [[1.5, -0.5], [0, 1]], [[1, 0]], [1, 0], [["x"]], [], [[np.nan, 1], [0, 1]]], ids=str
)
def test_invalid_matrices_are_refused(rows):
    with pytest.raises(core.InvalidNoise):
        core.TransitionMatrix.from_rows(rows)


@pytest.mark.parametrize(
    ("classes", "message"),
    [(["a", "b", "c"], "2 rows for 3 classes"), (["a", "a"], "'a' more than once"), ("ab", "2 rows for 1 classes")],
)
def test_classes_that_do_not_fit_a_matrix_are_refused(classes, message):
    with pytest.raises(core.InvalidNoise, match=message):
        core.TransitionMatrix.from_rows([[0.9, 0.1], [0.2, 0.8]], classes)


def test_without_labels_or_classes_there_is_no_noise():
    with pytest.raises(core.InvalidInput, match="y has no labels"):
        core.inject_noise([], {"kind": "uniform", "rate": 0.2})
    with pytest.raises(core.InvalidNoise, match="classes is empty"):
        core.TransitionMatrix.uniform(0.2, [])


def test_error_for_a_transposed_matrix_suggests_transposing_it():
    with pytest.raises(core.InvalidNoise, match=r"row 0 .* sums to 1.1.*transpose"):
        core.TransitionMatrix.from_rows([[0.9, 0.2], [0.1, 0.8]])


def test_matrices_compare_by_value_and_are_read_only():
    one = core.TransitionMatrix.from_rows([[0.9, 0.1], [0.2, 0.8]], classes=["no", "yes"])
    assert one == core.TransitionMatrix.from_rows([[0.9, 0.1], [0.2, 0.8]], classes=["no", "yes"])
    assert one != core.TransitionMatrix.from_rows([[0.9, 0.1], [0.2, 0.8]])
    with pytest.raises(ValueError, match="read-only"):
        one.rows[0, 0] = 1.0


@pytest.mark.parametrize("kind", core.NOISE_KINDS)
def test_noise_kinds_declare_help_and_amount_of_work(kind):
    noise = core.NOISE_KINDS[kind]
    assert noise.kind == kind
    assert noise.help
    assert all(parameter.help for parameter in service_api.noise_parameters(kind))
    assert (noise.work_in_trees > 0.01) == noise.needs_features


def test_expected_noise_rate_and_phases():
    y = np.repeat([0, 1], [100, 300])
    noisy = core.inject_noise(y, BINARY_NOISE["pairwise"], random_state=0)
    assert service_api.expected_noise_rate(BINARY_NOISE["pairwise"], noisy, y) == pytest.approx(0.25 * 0.1 + 0.75 * 0.3)
    uniform = core.inject_noise(y, THREE_CLASS_NOISE["uniform"], random_state=0)
    assert service_api.expected_noise_rate(THREE_CLASS_NOISE["uniform"], uniform, y) == 0.3
    assert service_api.injection_phases(THREE_CLASS_NOISE["uniform"]) == {"injecting": 0.01}


def test_noise_parameters_have_help_and_bounds():
    assert [p.name for p in service_api.correction_parameters()] == ["kind", "transition"]
    (rate,) = service_api.noise_parameters("uniform")
    assert (rate.name, rate.bounds) == ("rate", service_api.Bounds(ge=0, lt=1))
    assert rate.help


def test_a_column_of_labels_is_one_label_per_row():
    y = np.arange(60) % 3
    spec = {"kind": "uniform", "rate": 0.2}
    with pytest.warns(DataConversionWarning):
        noisy = core.inject_noise(pd.DataFrame({"y": y}), spec, random_state=0)
    assert noisy.labels.tolist() == core.inject_noise(y, spec, random_state=0).labels.tolist()
    assert noisy.flipped.shape == (60,)
    with pytest.raises(core.InvalidInput, match="1d array"):
        core.inject_noise(np.zeros((3, 2)), spec)


def test_missing_values_of_pandas_are_filled_as_nan():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)))
    y = np.arange(60) % 3
    spec = {"kind": "class_conditional"}
    nullable = core.inject_noise(y, spec, X=X.astype("Float64").mask(X > 1), random_state=0)
    assert nullable.transition == core.inject_noise(y, spec, X=X.mask(X > 1), random_state=0).transition
