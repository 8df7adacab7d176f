"""Cumulative distribution functions by name, with checked parameters: four of our own and those of scipy.stats."""

import importlib
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidLoss

Cdf = Callable[[NDArray[np.float64]], NDArray[np.float64]]

#: Largest number of evaluations of a function with a closed form, and of one that integrates or sums each time.
MANY_VALUES, FEW_VALUES = 2**22, 2**12
_MANY_AT_ONCE, _FEW_AT_ONCE = 2**12, 2**3
#: Distributions of scipy.stats whose closed form is as slow as an integral.
_SLOW = frozenset({"genhyperbolic", "irwinhall", "ksone", "kstwo", "levy_stable", "studentized_range"})
_LOC_AND_SCALE = {"loc": 0.0, "scale": 1.0}
#: Shape parameters are at most this large, in magnitude.
MAX_SHAPE = 1e6
#: Narrower bounds of distributions that sum or integrate over a range which grows with the parameter: beyond them, a
#: single value takes seconds, or hours.
SHAPE_BOUNDS = {
    ("gausshyper", "a"): (1e-3, 50.0),
    ("gausshyper", "b"): (1e-3, 50.0),
    ("gausshyper", "c"): (-50.0, 50.0),
    ("gausshyper", "z"): (-0.9, 50.0),
    ("irwinhall", "n"): (1.0, 100.0),
    ("ksone", "n"): (1.0, 1000.0),
    ("nct", "nc"): (-1000.0, 1000.0),
    ("studentized_range", "k"): (1.01, 1000.0),
    ("studentized_range", "df"): (0.5, MAX_SHAPE),
}


class NamedCdf(NamedTuple):
    """Cumulative distribution function F with a value for each of its parameters."""

    parameters: dict[str, float]
    function: Cdf
    max_evaluations: int
    max_at_once: int  # values that are computed in a fraction of a second


def _located_and_scaled(standard: Cdf, parameters: dict[str, float]) -> Cdf:
    loc, scale = parameters["loc"], parameters["scale"]
    return lambda z: standard((z - loc) / scale)


def _logistic(z: NDArray[np.float64]) -> NDArray[np.float64]:
    return 0.5 + 0.5 * np.tanh(0.5 * z)


def _uniform(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return F on [-1, 1], unlike scipy's `uniform`, which is on [0, 1]."""
    return 0.5 + 0.5 * np.clip(z, -1.0, 1.0)


def _bernoulli(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the step at 0 (Wilton and Ye 2024, Lemma 6)."""
    return np.asarray(z >= 0.0, dtype=np.float64)


_OURS: dict[str, Cdf] = {"logistic": _logistic, "uniform": _uniform, "bernoulli": _bernoulli}
OUR_NAMES = (*_OURS, "negative_exponential")


def named_cdf(name: str, parameters: Mapping[str, float]) -> NamedCdf:
    """Return the distribution with this name. Raises InvalidLoss for unknown names and wrong parameters."""
    values = {key: float(value) for key, value in parameters.items()}
    if name == "negative_exponential":
        return _negative_exponential(values)
    if name in _OURS:
        _check_names(name, values, required=(), optional=tuple(_LOC_AND_SCALE))
        _check_scale(name, values)
        complete = {**_LOC_AND_SCALE, **values}
        return NamedCdf(complete, _located_and_scaled(_OURS[name], complete), MANY_VALUES, _MANY_AT_ONCE)
    return _scipy_cdf(name, values)


def _check_names(name: str, values: dict[str, float], required: tuple[str, ...], optional: tuple[str, ...]) -> None:
    missing = [key for key in required if key not in values]
    unknown = [key for key in values if key not in (*required, *optional)]
    if missing or unknown:
        problem = f"lacks {', '.join(missing)}" if missing else f"has no parameter {unknown[0]!r}"
        needed = f"required are {', '.join(required)}, " if required else ""
        raise InvalidLoss(
            f"cdf {name!r} {problem} (its parameters are {values}); {needed}optional are {', '.join(optional)}."
        )


def _check_scale(name: str, values: dict[str, float]) -> None:
    if not values.get("scale", 1.0) > 0:
        raise InvalidLoss(f"scale of cdf {name!r} is {values['scale']:g}; it must be above 0.")


def _check_shapes(name: str, values: dict[str, float], shapes: tuple[str, ...]) -> None:
    for shape in shapes:
        low, high = SHAPE_BOUNDS.get((name, shape), (-MAX_SHAPE, MAX_SHAPE))
        if not low <= values[shape] <= high:
            raise InvalidLoss(
                f"{shape} of cdf {name!r} is {values[shape]:g}; it must be from {low:g} to {high:g}, because the time "
                "for one value grows with it. Choose a less extreme parameter, or another distribution."
            )


def _negative_exponential(values: dict[str, float]) -> NamedCdf:
    """Return F(z) = min(1, exp(z - mu)) with lambda = 2 exp(-mu) (Wilton and Ye 2024, Theorem 8)."""
    _check_names("negative_exponential", values, required=(), optional=("mu", "lambda"))
    if len(values) == 2:
        raise InvalidLoss(
            f"parameters of cdf 'negative_exponential' are {values}; give either mu or lambda = 2 exp(-mu), not both."
        )
    complete = values or {"lambda": 0.5}
    if "mu" in complete and complete["mu"] < 0:
        raise InvalidLoss(f"mu of cdf 'negative_exponential' is {complete['mu']:g}; it must be at least 0.")
    if "lambda" in complete and not 0 < complete["lambda"] <= 2:
        raise InvalidLoss(
            f"lambda of cdf 'negative_exponential' is {complete['lambda']:g}; it must be above 0 and at most 2. "
            'For lambda = 0 use the loss "sqrt_gini".'
        )
    mu = complete["mu"] if "mu" in complete else -math.log(complete["lambda"] / 2.0)
    return NamedCdf(complete, lambda z: np.exp(np.minimum(z - mu, 0.0)), MANY_VALUES, _MANY_AT_ONCE)


def _scipy_cdf(name: str, values: dict[str, float]) -> NamedCdf:
    stats: Any = importlib.import_module("scipy.stats")  # imported here because the import takes a quarter of a second
    distribution = getattr(stats, name, None) if name.isidentifier() else None
    if not isinstance(distribution, stats.rv_continuous):
        raise InvalidLoss(
            f"cdf {name!r} is not known; choose one of {', '.join(OUR_NAMES)}, or the name of a continuous "
            'distribution of scipy.stats, such as "norm", "t" or "gumbel_l".'
        )
    shapes = tuple(distribution.shapes.split(", ")) if distribution.shapes else ()
    _check_names(name, values, required=shapes, optional=tuple(_LOC_AND_SCALE))
    _check_scale(name, values)
    _check_shapes(name, values, shapes)
    complete = {**_LOC_AND_SCALE, **values}
    with np.errstate(all="ignore"):
        if np.isnan(distribution.cdf(complete["loc"], **complete)):
            raise InvalidLoss(
                f"parameters of cdf {name!r} are {values}, which are out of its bounds; see scipy.stats.{name} for the "
                f"allowed values of {', '.join(shapes) or 'loc and scale'}."
            )
    has_formula = type(distribution)._cdf is not stats.rv_continuous._cdf and name not in _SLOW
    amounts = (MANY_VALUES, _MANY_AT_ONCE) if has_formula else (FEW_VALUES, _FEW_AT_ONCE)
    return NamedCdf(complete, lambda z: distribution.cdf(z, **complete), *amounts)
