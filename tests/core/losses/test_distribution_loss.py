"""Distribution losses: the tabulated curve compared with brute force, its error bound, and known special cases."""

import numpy as np
import pytest

import core
from core.losses.cdfs import OUR_NAMES, named_cdf
from core.losses.distribution_curve import greatest_excess, lower_envelope, value
from tests.core.kernels.criteria_by_hand import node_impurity, split_gain

SHAPES = [
    ("logistic", {}),
    ("uniform", {"loc": 0.5, "scale": 2}),
    ("bernoulli", {}),
    ("bernoulli", {"loc": -1}),
    ("negative_exponential", {"lambda": 0.01}),
    ("negative_exponential", {"mu": 0.9}),
    ("norm", {"loc": 1.0}),
    ("t", {"df": 1.3, "loc": 2}),
    ("cauchy", {"loc": 30, "scale": 0.01}),
    ("expon", {"loc": -1}),
    ("expon", {}),
    ("gamma", {"a": 2, "loc": -3}),
    ("gumbel_r", {}),
    ("gumbel_l", {"loc": 1}),
    ("levy_l", {"loc": 0.3}),
    ("pareto", {"b": 0.1, "loc": -2}),
    ("beta", {"a": 0.2, "b": 0.3, "loc": -0.3}),
]


def brute_force(cdf, shares):
    """Return for each share p of class 1 the least risk over a dense grid and the two infinite predictions, an upper
    bound of the infimum.
    """
    y = np.concatenate([[0.0], np.geomspace(1e-9, 1e9, 4001), np.linspace(0, 6, 20_001), np.linspace(29, 31, 20_001)])
    with np.errstate(over="ignore"):
        a, b = cdf(-y), cdf(y)
    return [min(p, 1 - p, (p * a + (1 - p) * b).min(), (p * b + (1 - p) * a).min()) for p in shares]


@pytest.mark.parametrize(("name", "parameters"), SHAPES, ids=str)
def test_impurities_are_within_the_error_bound(name, parameters):
    loss = core.DistributionLoss(name, parameters)
    criterion = loss.criterion(2)
    assert 0 < loss.error_bound <= 1e-6
    cdf = named_cdf(name, parameters).function
    shares = [0.0, 1e-7, 1e-4, *np.random.default_rng(0).uniform(0, 1, 60), 0.499999, 0.5, 1.0]
    for p, least_risk in zip(shares, brute_force(cdf, shares), strict=True):
        got = node_impurity(criterion, np.array([1 - p, p]))
        assert got <= least_risk + loss.error_bound, p
        assert got >= least_risk - 1e-7, p


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("lambda_", [0.02, 0.25, 0.5, 0.9, 1.0])
def test_negative_exponential_equals_its_closed_form_for_any_number_of_classes(n_classes, lambda_):
    loss = core.DistributionLoss("negative_exponential", {"lambda": lambda_})
    tabulated = loss.criterion(n_classes)
    closed = core.NegativeExponential(lambda_).criterion(n_classes)
    bound = 2 * (n_classes - 1) / n_classes * loss.error_bound
    rng = np.random.default_rng(n_classes)
    for _ in range(400):
        counts = 10 * rng.dirichlet(np.full(n_classes, rng.choice([0.05, 0.3, 1, 5])))
        assert node_impurity(tabulated, counts) == pytest.approx(node_impurity(closed, counts), abs=bound)


@pytest.mark.parametrize(("name", "parameters"), [("logistic", {}), ("uniform", {}), ("t", {"df": 3}), ("norm", {})])
def test_symmetric_distributions_are_conservative(name, parameters):
    rng = np.random.default_rng(0)
    for n_classes in [2, 3, 7]:
        criterion = core.DistributionLoss(name, parameters).criterion(n_classes)
        conservative = core.ZeroOne().criterion(n_classes)
        for _ in range(50):
            counts = rng.dirichlet(np.ones(n_classes))
            assert node_impurity(criterion, counts) == node_impurity(conservative, counts)


@pytest.mark.parametrize(("name", "parameters"), [("expon", {"loc": -1}), ("gumbel_r", {}), ("levy_l", {"loc": 1})])
def test_impurity_is_concave_for_more_than_two_classes(name, parameters):
    loss = core.DistributionLoss(name, parameters)
    criterion = loss.criterion(3)
    rng = np.random.default_rng(0)
    for _ in range(300):
        left, right = rng.dirichlet(np.full(3, 0.5)), 3 * rng.dirichlet(np.full(3, 0.5))
        parent = node_impurity(criterion, left + right)
        gain = split_gain(criterion, parent, left, right)
        assert gain >= -4 * loss.error_bound


def test_impurity_does_not_depend_on_the_scale_of_the_margin():
    narrow, wide = (core.DistributionLoss("gumbel_r", {"scale": scale}).criterion(2) for scale in (1e-3, 1e3))
    for p in np.linspace(0, 1, 23):
        counts = np.array([1 - p, p])
        assert node_impurity(narrow, counts) == pytest.approx(node_impurity(wide, counts), abs=1e-6)


def test_distribution_without_closed_form_has_a_larger_error_bound():
    loss = core.DistributionLoss("levy_stable", {"alpha": 1.5, "beta": 0.5, "loc": 1})
    assert 1e-12 < loss.error_bound < 1e-2


def test_envelope_is_the_minimum_of_its_lines():
    rng = np.random.default_rng(0)
    at_zero, slopes = rng.uniform(0, 1, 60), rng.uniform(-1, 1, 60)
    envelope = lower_envelope(at_zero, slopes)
    x = np.linspace(0, 0.5, 301)
    lines = at_zero[:, np.newaxis] + slopes[:, np.newaxis] * x
    np.testing.assert_allclose(value(envelope, x), lines.min(axis=0), atol=1e-12)
    below = np.array([-0.3]), np.array([0.2])
    excess = (lines.min(axis=0) - (below[0] + below[1] * x)).max()
    assert greatest_excess(envelope, *below)[0] == pytest.approx(excess, abs=5e-3)
    assert greatest_excess(envelope, *below)[0] >= excess


def test_json_contains_all_parameters():
    assert core.parse_loss("distribution").to_json() == {
        "kind": "distribution",
        "cdf": "negative_exponential",
        "parameters": {"lambda": 0.5},
    }
    loss = core.parse_loss({"kind": "distribution", "cdf": "t", "parameters": {"df": 3}})
    assert loss.to_json()["parameters"] == {"loc": 0.0, "scale": 1.0, "df": 3.0}
    assert core.parse_loss(loss.to_json()) == loss
    assert hash(core.parse_loss(loss.to_json())) == hash(loss)
    assert {core.DistributionLoss(name).cdf for name in OUR_NAMES} == set(OUR_NAMES)


@pytest.mark.parametrize(
    ("cdf", "parameters", "message"),
    [
        ("nope", {}, "'nope'"),
        ("binom", {"n": 3, "p": 0.5}, "'binom'"),
        ("rv_continuous", {}, "'rv_continuous'"),
        ("__doc__", {}, "'__doc__'"),
        ("../t", {}, r"'\.\./t'"),
        (3, {}, "3"),
        ("t", {}, "lacks df"),
        ("t", {"df": 3, "dof": 1}, "'dof'"),
        ("t", {"df": -1}, r"'df': -1\.0"),
        ("t", {"df": 3, "scale": 0}, "scale"),
        ("t", {"df": "3"}, "'3'"),
        ("t", {"df": float("inf")}, "inf"),
        ("logistic", {"scale": -2}, "scale"),
        ("uniform", {"mu": 1}, "'mu'"),
        ("negative_exponential", {"mu": 1, "lambda": 1}, "not both"),
        ("negative_exponential", {"mu": -0.1}, "-0.1"),
        ("negative_exponential", {"lambda": 0}, "sqrt_gini"),
        ("negative_exponential", {"lambda": 2.1}, "2.1"),
        ("negative_exponential", {"loc": 1}, "'loc'"),
    ],
)
def test_errors_name_the_invalid_distribution_or_parameter(cdf, parameters, message):
    with pytest.raises(core.InvalidLoss, match=message):
        core.DistributionLoss(cdf, parameters)
