"""Work of distribution losses: bounded parameters, bounded numbers of evaluations, and steps that can be stopped."""

import numpy as np
import pytest
from scipy import stats

import core
from core.exceptions import InvalidLoss
from core.losses.cdfs import MAX_SHAPE, SHAPE_BOUNDS, named_cdf
from core.losses.distribution_curve import tabulate

NAMES = sorted(name for name in dir(stats) if isinstance(getattr(stats, name), stats.rv_continuous))


def _shapes(name):
    shapes = getattr(stats, name).shapes
    return shapes.split(", ") if shapes else []


@pytest.mark.parametrize(
    ("name", "parameters", "shape"),
    [
        ("ksone", {"n": 1e6}, "n"),
        ("irwinhall", {"n": 1e5}, "n"),
        ("studentized_range", {"k": 3, "df": 1e-3}, "df"),
        ("gausshyper", {"a": 1000, "b": 1, "c": 3, "z": 1}, "a"),
        ("t", {"df": 2e6}, "df"),
    ],
)
def test_parameters_that_make_values_slow_are_refused(name, parameters, shape):
    with pytest.raises(InvalidLoss, match=f"^{shape} of cdf '{name}' is .*; it must be from .* to "):
        core.DistributionLoss(name, parameters)


@pytest.mark.filterwarnings("ignore:The shape parameter:RuntimeWarning", "ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_one_value_at_the_bounds_of_the_parameters_ends(name, end):
    bounds = [SHAPE_BOUNDS.get((name, shape), (1e-6, MAX_SHAPE)) for shape in _shapes(name)]
    parameters = {shape: bound[end] for shape, bound in zip(_shapes(name), bounds, strict=True)}
    try:
        cdf = named_cdf(name, parameters)
    except InvalidLoss:
        return  # out of the distribution's own bounds
    with np.errstate(all="ignore"):
        assert cdf.function(np.array([0.5])).shape == (1,)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("ksone", {"n": 1000}), ("irwinhall", {"n": 100}), ("t", {"df": 1e-3}), ("gamma", {"a": 1e6}), ("norm", {})],
    ids=str,
)
def test_evaluations_are_counted_and_made_in_steps(name, parameters):
    cdf, sizes = named_cdf(name, parameters), []

    def counted(z):
        sizes.append(len(z))
        return cdf.function(z)

    tabulate(cdf._replace(function=counted), name)
    assert max(sizes) <= cdf.max_at_once
    assert sum(sizes) <= cdf.max_evaluations


def test_a_tabulation_can_be_stopped_between_steps():
    cdf, flag, sizes = named_cdf("ksone", {"n": 1000}), np.zeros(1, dtype=np.uint8), []

    def stopping(z):
        sizes.append(len(z))
        flag[0] = len(sizes) == 3
        return cdf.function(z)

    with pytest.raises(core.FitStopped):
        tabulate(cdf._replace(function=stopping), "ksone", flag)
    assert len(sizes) == 3
