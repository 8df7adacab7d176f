"""Cumulative distribution functions by name: ours, and the continuous ones of scipy.stats, with checked parameters."""

import importlib
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidLoss

Cdf = Callable[[NDArray[np.float64]], NDArray[np.float64]]

#: Values that may be asked of a function with a formula, and of one that integrates or sums for each of them.
MANY_VALUES, FEW_VALUES = 2**22, 2**12
#: scipy.stats distributions whose formula is as slow as an integral.
_SLOW = frozenset({"genhyperbolic", "ksone", "kstwo", "levy_stable", "studentized_range"})
_PLACED = {"loc": 0.0, "scale": 1.0}


class NamedCdf(NamedTuple):
    """F with all its parameters, defaults spelled out."""

    parameters: dict[str, float]
    function: Cdf
    most_values: int


def _standardised(standard: Cdf, parameters: dict[str, float]) -> Cdf:
    loc, scale = parameters["loc"], parameters["scale"]
    return lambda z: standard((z - loc) / scale)


def _logistic(z: NDArray[np.float64]) -> NDArray[np.float64]:
    return 0.5 + 0.5 * np.tanh(0.5 * z)


def _uniform(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Margins from -1 to 1; scipy's `uniform` lies on [0, 1]."""
    return 0.5 + 0.5 * np.clip(z, -1.0, 1.0)


def _bernoulli(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """All mass at one margin, 0: the step of Wilton and Ye 2024, Lemma 6."""
    return np.asarray(z >= 0.0, dtype=np.float64)


_OURS: dict[str, Cdf] = {"logistic": _logistic, "uniform": _uniform, "bernoulli": _bernoulli}
OUR_NAMES = (*_OURS, "negative_exponential")


def named_cdf(name: str, parameters: Mapping[str, float]) -> NamedCdf:
    """The function behind a name. Raises InvalidLoss for names and parameters that are none."""
    given = {key: float(value) for key, value in parameters.items()}
    if name == "negative_exponential":
        return _negative_exponential(given)
    if name in _OURS:
        _check_names(name, given, required=(), optional=tuple(_PLACED))
        _check_scale(name, given)
        spelled_out = {**_PLACED, **given}
        return NamedCdf(spelled_out, _standardised(_OURS[name], spelled_out), MANY_VALUES)
    return _of_scipy(name, given)


def _check_names(name: str, given: dict[str, float], required: tuple[str, ...], optional: tuple[str, ...]) -> None:
    missing = [key for key in required if key not in given]
    unknown = [key for key in given if key not in (*required, *optional)]
    if missing or unknown:
        wrong = f"lacks {', '.join(missing)}" if missing else f"has no parameter {unknown[0]!r}"
        needed = f"needs {', '.join(required)} and " if required else ""
        raise InvalidLoss(f"cdf {name!r} {wrong} (given: {given}); it {needed}may have {', '.join(optional)}.")


def _check_scale(name: str, given: dict[str, float]) -> None:
    if not given.get("scale", 1.0) > 0:
        raise InvalidLoss(f"scale of cdf {name!r} is {given['scale']:g}; it must be above 0.")


def _negative_exponential(given: dict[str, float]) -> NamedCdf:
    """F(z) = min(1, exp(z - mu)) with lambda = 2 exp(-mu) (Wilton and Ye 2024, Theorem 8)."""
    _check_names("negative_exponential", given, required=(), optional=("mu", "lambda"))
    if len(given) == 2:
        raise InvalidLoss(f"cdf 'negative_exponential' has {given}; give mu or lambda = 2 exp(-mu), not both.")
    spelled_out = given or {"lambda": 0.5}
    if "mu" in spelled_out and spelled_out["mu"] < 0:
        raise InvalidLoss(f"mu of cdf 'negative_exponential' is {given['mu']:g}; it must be at least 0.")
    if "lambda" in spelled_out and not 0 < spelled_out["lambda"] <= 2:
        raise InvalidLoss(
            f"lambda of cdf 'negative_exponential' is {given['lambda']:g}; it must be above 0 and at most 2. "
            'For lambda = 0 use the loss "sqrt_gini".'
        )
    mu = spelled_out["mu"] if "mu" in spelled_out else -math.log(spelled_out["lambda"] / 2.0)
    return NamedCdf(spelled_out, lambda z: np.exp(np.minimum(z - mu, 0.0)), MANY_VALUES)


def _of_scipy(name: str, given: dict[str, float]) -> NamedCdf:
    stats: Any = importlib.import_module("scipy.stats")  # takes a quarter of a second, which few losses need
    distribution = getattr(stats, name, None) if name.isidentifier() else None
    if not isinstance(distribution, stats.rv_continuous):
        raise InvalidLoss(
            f"cdf {name!r} is not known; choose one of {', '.join(OUR_NAMES)}, or the name of a continuous "
            'distribution of scipy.stats, such as "norm", "t" or "gumbel_l".'
        )
    shapes = tuple(distribution.shapes.split(", ")) if distribution.shapes else ()
    _check_names(name, given, required=shapes, optional=tuple(_PLACED))
    _check_scale(name, given)
    spelled_out = {**_PLACED, **given}
    with np.errstate(all="ignore"):
        if np.isnan(distribution.cdf(spelled_out["loc"], **spelled_out)):
            raise InvalidLoss(
                f"parameters {given} of cdf {name!r} are out of its bounds; see scipy.stats.{name} for the allowed "
                f"{', '.join(shapes) or 'loc and scale'}."
            )
    has_formula = type(distribution)._cdf is not stats.rv_continuous._cdf and name not in _SLOW
    return NamedCdf(
        spelled_out, lambda z: distribution.cdf(z, **spelled_out), MANY_VALUES if has_formula else FEW_VALUES
    )
