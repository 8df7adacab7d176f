"""What every loss is: a kind with parameters, its kernel criterion, and the values of its leaves."""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from core.exceptions import CoreError, InvalidLoss
from core.kernels.criteria.catalogue import Criterion
from core.parameters import parameters_of


@dataclass(frozen=True, repr=False)
class Loss:
    """Base of all losses: a kind, its aliases, and how it becomes a kernel criterion."""

    kind: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    help: ClassVar[str]
    #: Whether the loss is defined for exactly two classes only.
    needs_two_classes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for parameter in parameters_of(type(self)):
            try:
                parameter.check(getattr(self, parameter.argument), f"loss {self.kind!r}")
            except CoreError as error:
                raise InvalidLoss(str(error)) from None

    def check_class_count(self, n_classes: int) -> None:
        """Raise InvalidLoss if the loss is not defined for `n_classes` classes."""
        if self.needs_two_classes and n_classes != 2:
            raise InvalidLoss(
                f"the labels have {n_classes} classes, and loss {self.kind!r} needs exactly 2; choose another loss, "
                'such as "gini" or "twoing", or keep two classes.'
            )

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        """The kernel criterion for a data set of `n_classes` classes, whose rows' weights are in units of
        `weight_unit`: a loss with a parameter in weights, or a risk in pairs of rows, counts as the caller does.
        """
        raise NotImplementedError

    def leaf_value(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """The prediction of least mean loss in nodes of class distributions `p` (node, class), same shape."""
        return p

    def vote(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """What leaves of class distributions `p` (node, class) add to a prediction, same shape: their values, but `p`
        itself where the value is one class and would hide how sure a leaf is.
        """
        return self.leaf_value(p)

    def to_json(self) -> dict[str, Any]:
        """The canonical JSON form, every parameter spelled out."""
        values = {p.name: getattr(self, p.argument) for p in parameters_of(type(self))}
        return {"kind": self.kind, **{k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}}

    def __repr__(self) -> str:
        return json.dumps(self.to_json())


def majority(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """One-hot rows of the most frequent class, ties to the lowest; `p` and result (node, class)."""
    values = np.zeros_like(p)
    np.put_along_axis(values, p.argmax(axis=1)[:, np.newaxis], 1.0, axis=1)
    return values


class OneHotLeaves(Loss):
    """Losses whose least mean loss is reached by naming one class."""

    def leaf_value(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return majority(p)

    def vote(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return p
