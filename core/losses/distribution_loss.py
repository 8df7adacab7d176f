"""Distribution losses: one loss for every cumulative distribution function of the margin (Wilton and Ye 2024)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.catalog import Criterion
from core.kernels.criteria.distribution import TabulatedImpurity
from core.losses.base import Loss
from core.losses.cdfs import named_cdf
from core.losses.distribution_curve import Curve, tabulate
from core.parameters import Help

_MAX_KEPT = 32
_KEPT: dict[tuple[str, tuple[tuple[str, float], ...]], Curve] = {}


def _curve(cdf: str, parameters: Mapping[str, float], stop_flag: NDArray[np.uint8] | None = None) -> Curve:
    """Return the table of a distribution, which is kept for later calls. Raises FitStopped."""
    key = cdf, tuple(parameters.items())
    curve = _KEPT.get(key)
    if curve is None:
        curve = tabulate(named_cdf(cdf, parameters), cdf, stop_flag)
        for oldest in list(_KEPT)[: len(_KEPT) + 1 - _MAX_KEPT]:
            _KEPT.pop(oldest, None)
        _KEPT[key] = curve
    return curve


@dataclass(frozen=True, repr=False)
class DistributionLoss(Loss):
    """Loss F(-margin) for a cumulative distribution function F.

    `cdf` is `logistic`, `uniform` (on [-1, 1]), `bernoulli` (a step at 0), `negative_exponential` with `mu` or
    `lambda` = 2 exp(-mu), or a continuous distribution of scipy.stats; `parameters` are its shapes, `loc` and `scale`.

    Two classes: the impurity is the infimum over ŷ of p F(-ŷ) + (1 - p) F(ŷ), tabulated to within `error_bound`. With
    x the proportion of the smaller class it equals min{x, C(x)}: x is the limit for infinite ŷ, and C is the infimum
    over the finite ŷ with F(ŷ) + F(-ŷ) < 1, which are the only ones that can be below x.

    K classes: min{1 - ||p||_inf, 2 (K - 1) / K C(x)}. Here x is the two-class proportion at the same distance from
    the uniform distribution, relative to the distance of a pure node: 4 x (1 - x) = (1 - ||p||_2^2) K / (K - 1). This
    impurity is concave; it is the closed form of the negative exponential loss for every K, and misclassification for
    every symmetric F.

    For an F with F(0) = 0, such as `expon`, predicting ŷ = 0 has no risk: the impurity is 0 and no node is split.
    """

    cdf: Annotated[
        str,
        Help(
            "Name of the distribution: `logistic`, `uniform`, `bernoulli`, `negative_exponential`, or a continuous "
            "distribution of scipy.stats."
        ),
    ] = "negative_exponential"
    parameters: Annotated[
        Mapping[str, float] | None,
        Help("Parameters of the distribution, such as its shapes, loc and scale. If unset, its defaults are used."),
    ] = None

    kind, help = "distribution", "Distribution loss, defined by a cumulative distribution function F of the margin."

    def __post_init__(self) -> None:
        super().__post_init__()
        spelled_out = named_cdf(self.cdf, self.parameters or {}).parameters
        object.__setattr__(self, "parameters", spelled_out)

    def __hash__(self) -> int:
        return hash(repr(self))

    def _tabulated(self) -> Curve:
        return _curve(self.cdf, self.parameters or {})

    def prepare(self, stop_flag: NDArray[np.uint8]) -> None:
        """Tabulate the impurity."""
        _curve(self.cdf, self.parameters or {}, stop_flag)

    @property
    def error_bound(self) -> float:
        """Largest excess of a two-class impurity over the infimum, which it is never below; for K classes the bound is
        2 (K - 1) / K times as large.
        """
        return self._tabulated().error_bound

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        return TabulatedImpurity(self._tabulated().lines, n_classes)
