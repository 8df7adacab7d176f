"""Base class of the losses, and the description of how an adaptive loss is tuned."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.class_votes import winning_classes
from core.exceptions import CoreError, InvalidLoss
from core.kernels.criteria.catalog import Criterion
from core.parameters import parameters_of

#: Rows on which an adaptive loss is tuned; "auto" means out of bag where trees grow on bootstrap samples.
SelectionMethod = Literal["auto", "holdout", "out_of_bag"]


class LambdaTuning(NamedTuple):
    """Search over a grid of lambda for the loss to grow with, by accuracy on rows that the trees have not seen."""

    grid: tuple[float, ...]
    loss_at: Callable[[float], "Loss"]
    validation_fraction: float
    selection: SelectionMethod


@dataclass(frozen=True, repr=False)
class Loss:
    """Base of all losses: a kind, its aliases and parameters, its kernel criterion and its leaf values."""

    kind: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    help: ClassVar[str]
    #: Whether the loss is defined for exactly two classes only.
    needs_two_classes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for parameter in parameters_of(type(self)):
            value = getattr(self, parameter.argument)
            try:
                parameter.check(value, f"loss {self.kind!r}")
            except CoreError as error:
                raise InvalidLoss(str(error)) from None
            object.__setattr__(self, parameter.argument, parameter.convert(value))

    @property
    def tuning(self) -> LambdaTuning | None:
        """Search that an adaptive loss asks for; None for a loss that trees are grown with as it is."""
        return None

    @property
    def votes_with_distribution(self) -> bool:
        """True if a leaf votes with its class distribution, False if it votes with its leaf value."""
        return True

    def check_class_count(self, n_classes: int) -> None:
        """Raise InvalidLoss if the loss is not defined for `n_classes` classes."""
        if self.needs_two_classes and n_classes != 2:
            raise InvalidLoss(
                f"the labels have {n_classes} classes, and loss {self.kind!r} needs exactly 2; choose another loss, "
                'such as "gini" or "twoing", or keep two classes.'
            )

    def prepare(self, stop_flag: NDArray[np.uint8]) -> None:
        """Compute what `criterion` needs, if that takes long. Raises FitStopped when `stop_flag` (1,) is set."""

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        """Return the kernel criterion for a data set of `n_classes` classes.

        Row weights are in units of `weight_unit`, so that a parameter that is a weight, or a risk that counts pairs of
        rows, can be converted to that unit.
        """
        raise NotImplementedError

    def leaf_value(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the prediction of least mean loss for nodes with class distributions `p` (node, class), same shape."""
        return p

    def vote(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the votes of leaves with class distributions `p` (node, class), same shape."""
        return p if self.votes_with_distribution else self.leaf_value(p)

    def to_json(self) -> dict[str, Any]:
        """Return the canonical JSON form, with a value for every parameter."""
        values = {p.name: getattr(self, p.argument) for p in parameters_of(type(self))}
        return {"kind": self.kind, **{k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}}

    def __repr__(self) -> str:
        return json.dumps(self.to_json())


def majority(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one-hot rows of the most frequent class, ties to the lowest; `p` and the result are (node, class)."""
    values = np.zeros_like(p)
    np.put_along_axis(values, winning_classes(p)[:, np.newaxis], 1.0, axis=1)
    return values


class OneHotLeaves(Loss):
    """Base of losses whose leaf value is the majority class; leaves still vote with their class distribution."""

    def leaf_value(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return majority(p)
