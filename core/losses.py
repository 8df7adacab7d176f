"""The public losses, their one JSON form, and the kernel criterion each stands for.

A loss is written as a name ("ne"), a mapping ({"kind": "ne", "lambda": 0.5}) or an object (NegativeExponential(0.5)).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from core.exceptions import CoreError, InvalidLoss
from core.kernels.criteria import (
    Criterion,
    Entropy,
    Gini,
    Misclassification,
    NegativeExponentialImpurity,
    SqrtGini,
)
from core.parameters import Bounds, Help, Key, Parameter, parameters_of


@dataclass(frozen=True, repr=False)
class Loss:
    """Base of all losses: a kind, its aliases, and how it becomes a kernel criterion."""

    kind: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    help: ClassVar[str]

    def __post_init__(self) -> None:
        for parameter in parameters_of(type(self)):
            try:
                parameter.check(getattr(self, parameter.argument), f"loss {self.kind!r}")
            except CoreError as error:
                raise InvalidLoss(str(error)) from None

    def criterion(self, n_classes: int) -> Criterion:
        """The kernel criterion for a data set of `n_classes` classes."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """The canonical JSON form, every parameter spelled out."""
        values = {p.name: getattr(self, p.argument) for p in parameters_of(type(self))}
        return {"kind": self.kind, **{k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}}

    def __repr__(self) -> str:
        return json.dumps(self.to_json())


class SquaredError(Loss):
    """Squared loss; impurity 1 - ||p||_2^2."""

    kind, aliases, help = "gini", ("mse",), "Squared loss (Gini impurity)."

    def criterion(self, n_classes: int) -> Criterion:
        return Gini()


class CrossEntropy(Loss):
    """Cross-entropy loss; impurity -sum p log p."""

    kind, aliases, help = "entropy", ("ce",), "Cross-entropy loss (information gain)."

    def criterion(self, n_classes: int) -> Criterion:
        return Entropy()


class ZeroOne(Loss):
    """Every conservative loss; impurity 1 - ||p||_inf (Wilton and Ye 2024, Theorem 4)."""

    kind, aliases = "misclassification", ("conservative", "zero_one", "infinity_norm")
    help = "Conservative losses: most robust, stops growing early."

    def criterion(self, n_classes: int) -> Criterion:
        return Misclassification(1.0)


class MeanAbsoluteError(Loss):
    """Absolute loss; twice the impurity of misclassification, so the same splits and twice the risk decrease."""

    kind, help = "mae", "Mean absolute error: the conservative loss with cost 2."

    def criterion(self, n_classes: int) -> Criterion:
        return Misclassification(2.0)


class RootGini(Loss):
    """The limit of the negative exponential loss for lambda -> 0; impurity sqrt((1 - ||p||_2^2) (K - 1) / K)."""

    kind, help = "sqrt_gini", "Square root of the Gini impurity: the negative exponential loss at lambda = 0."

    def criterion(self, n_classes: int) -> Criterion:
        return SqrtGini(n_classes)


@dataclass(frozen=True, repr=False)
class NegativeExponential(Loss):
    """Negative exponential loss (Wilton and Ye 2024, Theorem 8): from `sqrt_gini` (0) to conservative (1)."""

    lambda_: Annotated[
        float, Bounds(ge=0, le=1), Key("lambda"), Help("0 fits closely, 1 is most robust to label noise.")
    ] = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "lambda_", float(self.lambda_))

    kind, help = "ne", "Negative exponential loss: between close fit (0) and robustness (1)."

    def criterion(self, n_classes: int) -> Criterion:
        if self.lambda_ == 0:
            return SqrtGini(n_classes)
        return NegativeExponentialImpurity(float(self.lambda_), n_classes)


@dataclass(frozen=True, repr=False)
class AdaptiveNegativeExponential(Loss):
    """Negative exponential loss whose lambda is chosen by accuracy, on noisy labels, of rows that the trees did not
    see: out of bag, where the chosen trees are already grown on all rows, or held out, followed by a refit on all.
    """

    grid: Annotated[tuple[Annotated[float, Bounds(ge=0, le=1)], ...], Help("Values of lambda to choose from.")] = (
        0.0,
        0.25,
        0.5,
        0.75,
        1.0,
    )
    validation_fraction: Annotated[
        float, Bounds(gt=0, lt=1), Help("Share of the rows held out while lambda is chosen; unused out of bag.")
    ] = 0.2
    selection: Annotated[
        Literal["auto", "holdout", "out_of_bag"],
        Help("Rows that judge lambda: held out, out of bag (needs bootstrap), or auto = out of bag where possible."),
    ] = "auto"

    kind, aliases, help = "adaptive_ne", ("ane",), "Negative exponential loss, lambda chosen on rows not grown on."

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "grid", tuple(float(lambda_) for lambda_ in self.grid))
        object.__setattr__(self, "validation_fraction", float(self.validation_fraction))

    def criterion(self, n_classes: int) -> Criterion:
        raise NotImplementedError("the criterion is known once lambda is chosen")


#: kind -> loss, in the order in which they are shown.
LOSSES: dict[str, type[Loss]] = {
    loss.kind: loss
    for loss in (
        SquaredError,
        CrossEntropy,
        ZeroOne,
        MeanAbsoluteError,
        NegativeExponential,
        AdaptiveNegativeExponential,
        RootGini,
    )
}

_BY_NAME = {name: loss for loss in LOSSES.values() for name in (loss.kind, *loss.aliases)}


def loss_parameters(kind: str) -> tuple[Parameter, ...]:
    """The parameters of a loss, by kind or alias."""
    return parameters_of(_loss_class(kind))


def parse_loss(loss: Any) -> Loss:
    """The loss object behind a name, a mapping or an object. Raises InvalidLoss."""
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        return _loss_class(loss)()
    if isinstance(loss, Mapping):
        return _from_mapping(loss)
    raise InvalidLoss(f'loss is {loss!r}; it must be a name such as "ne", or a mapping such as {{"kind": "ne"}}.')


def _loss_class(name: Any) -> type[Loss]:
    if isinstance(name, str) and name in _BY_NAME:
        return _BY_NAME[name]
    raise InvalidLoss(f"loss {name!r} is not known; choose one of {', '.join(sorted(_BY_NAME))}.")


def _from_mapping(loss: Mapping[Any, Any]) -> Loss:
    if "kind" not in loss:
        raise InvalidLoss(f'loss {dict(loss)!r} lacks "kind"; choose one of {", ".join(LOSSES)}.')
    chosen = _loss_class(loss["kind"])
    arguments = {p.name: p.argument for p in parameters_of(chosen)}
    given = {key: value for key, value in loss.items() if key != "kind"}
    for key in given:
        if key not in arguments:
            known = ", ".join(arguments) or "none"
            raise InvalidLoss(f"loss {chosen.kind!r} has no parameter {key!r}; its parameters: {known}.")
    return chosen(**{arguments[key]: value for key, value in given.items()})
