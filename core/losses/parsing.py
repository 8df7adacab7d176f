"""Parsing of losses, which callers write as a name, a mapping or an object."""

from collections.abc import Mapping
from typing import Any

from core.exceptions import InvalidLoss
from core.losses.base import Loss
from core.losses.catalog import LOSSES
from core.parameters import Parameter, parameters_of

_BY_NAME = {name: loss for loss in LOSSES.values() for name in (loss.kind, *loss.aliases)}


def loss_parameters(kind: str) -> tuple[Parameter, ...]:
    """Return the parameters of the loss with the given kind or alias. Raises InvalidLoss."""
    return parameters_of(_loss_class(kind))


def parse_loss(loss: Any) -> Loss:
    """Return the loss that a name, a mapping or an object stands for. Raises InvalidLoss."""
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
        raise InvalidLoss(f'loss {dict(loss)!r} has no "kind"; choose one of {", ".join(LOSSES)}.')
    loss_class = _loss_class(loss["kind"])
    arguments = {p.name: p.argument for p in parameters_of(loss_class)}
    values = {key: value for key, value in loss.items() if key != "kind"}
    for key in values:
        if key not in arguments:
            known = ", ".join(arguments) or "none"
            raise InvalidLoss(f"loss {loss_class.kind!r} has no parameter {key!r}; its parameters are: {known}.")
    return loss_class(**{arguments[key]: value for key, value in values.items()})
