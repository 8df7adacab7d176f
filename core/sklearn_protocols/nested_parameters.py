"""Parameters of the loss as parameters of the estimator, such as `loss__lambda`, for grid searches."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core.exceptions import CoreError
from core.losses.base import Loss
from core.losses.parsing import loss_parameters, parse_loss
from core.parameters import Parameter, parameters_of

_PREFIX = "loss__"


def is_nested(name: str) -> bool:
    """Return whether a parameter name refers to a parameter of the loss."""
    return name.startswith(_PREFIX)


def nested_values(loss: Any) -> dict[str, Any]:
    """Return the parameters of a loss by nested name; none for a loss that `fit` would refuse."""
    try:
        parsed = parse_loss(loss)
    except CoreError:
        return {}
    return {f"{_PREFIX}{p.name}": getattr(parsed, p.argument) for p in parameters_of(type(parsed))}


def unknown_names(loss: Any, names: list[str]) -> list[str]:
    """Return the nested names that are not parameters of the loss."""
    known = {f"{_PREFIX}{parameter.name}" for parameter in _parameters(loss)}
    return [name for name in names if name not in known]


def with_nested_values(loss: Any, values: Mapping[str, Any]) -> Any:
    """Return the loss with other parameters, by nested name; `loss` itself is not changed.

    A name becomes a mapping, a mapping stays one, and an object stays an object.

    Raises InvalidLoss for an object if its new values are invalid; mappings are checked by `fit`.
    """
    changed = {name.removeprefix(_PREFIX): value for name, value in values.items()}
    if isinstance(loss, Loss):
        arguments = {parameter.name: parameter.argument for parameter in _parameters(loss)}
        return replace(loss, **{arguments[name]: value for name, value in changed.items()})
    return {**({"kind": loss} if isinstance(loss, str) else loss), **changed}


def _parameters(loss: Any) -> tuple[Parameter, ...]:
    """Return the parameters of a loss of any spelling; none if its kind is unknown."""
    kind: Any = loss.get("kind") if isinstance(loss, Mapping) else getattr(loss, "kind", loss)
    try:
        return loss_parameters(kind)
    except CoreError:
        return ()
