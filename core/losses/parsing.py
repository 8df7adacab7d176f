"""From what callers write to a loss: a name, a mapping, or the object itself."""

from collections.abc import Mapping
from typing import Any

from core.exceptions import InvalidLoss
from core.losses.base import Loss
from core.losses.catalogue import LOSSES
from core.parameters import Parameter, parameters_of

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
