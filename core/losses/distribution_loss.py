"""The framework of distribution losses: any cumulative distribution function is a loss (Wilton and Ye 2024)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from core.kernels.criteria.catalogue import Criterion
from core.kernels.criteria.distribution import TabulatedImpurity
from core.losses.base import Loss
from core.losses.cdfs import named_cdf
from core.losses.distribution_curve import Curve, tabulate
from core.parameters import Help


@lru_cache(maxsize=32)
def _curve(cdf: str, parameters: tuple[tuple[str, float], ...]) -> Curve:
    return tabulate(named_cdf(cdf, dict(parameters)), cdf)


@dataclass(frozen=True, repr=False)
class DistributionLoss(Loss):
    """Loss F(-margin) for a cumulative distribution function F of margins.

    `cdf` is `logistic`, `uniform` (on [-1, 1]), `bernoulli` (a step at 0), `negative_exponential` with `mu` or
    `lambda` = 2 exp(-mu), or a continuous distribution of scipy.stats; `parameters` are its shapes, `loc` and `scale`.

    Two classes: the impurity is the infimum over ŷ of p F(-ŷ) + (1 - p) F(ŷ), tabulated to within `error_bound`. With
    x the share of the smaller class it is min{x, C(x)}: x is the limit of infinite ŷ, and C the infimum over the
    finite ŷ with F(ŷ) + F(-ŷ) < 1, the only ones that ever beat it.

    K classes: min{1 - ||p||_inf, 2 (K - 1) / K C(x)}, with x the two-class share as far from the even distribution,
    measured by the distance of a pure node: 4 x (1 - x) = (1 - ||p||_2^2) K / (K - 1). This is concave; it gives the
    negative exponential loss its closed form for every K, and every symmetric F misclassification.

    An F with F(0) = 0, such as `expon`, makes ŷ = 0 free of risk: the impurity is 0 and no node is ever split.
    """

    cdf: Annotated[str, Help("Name of the distribution of margins, ours or of scipy.stats.")] = "negative_exponential"
    parameters: Annotated[
        Mapping[str, float] | None, Help("Shape parameters of the distribution, loc and scale; none = its defaults.")
    ] = None

    kind, help = "distribution", "Distribution loss: the chance that a random margin is below the one reached."

    def __post_init__(self) -> None:
        super().__post_init__()
        spelled_out = named_cdf(self.cdf, self.parameters or {}).parameters
        object.__setattr__(self, "parameters", spelled_out)

    def __hash__(self) -> int:
        return hash(repr(self))

    def _tabulated(self) -> Curve:
        return _curve(self.cdf, tuple((self.parameters or {}).items()))

    @property
    def error_bound(self) -> float:
        """No two-class impurity is below the infimum, nor further above it; with K classes, 2 (K - 1) / K as far."""
        return self._tabulated().error_bound

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        return TabulatedImpurity(self._tabulated().lines, n_classes)
