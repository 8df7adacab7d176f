"""Tables of estimators, losses and noise kinds, read from their declarations in `core`."""

import inspect
import types
from collections.abc import Mapping, Sequence
from typing import Any

import core
from core.service_api import Alternative, Bounds, Parameter, estimator_parameters, loss_parameters, noise_parameters
from docs.generation.markdown import code, literal, page, table

#: Integers up to here have no limit that anybody meets; the tables leave it out.
_WIDEST_INTEGER = 2**31 - 1

#: Values of parameters that are parsed by a function of their own and so declare no alternatives.
_PARSED_VALUES = {
    "loss": "a [loss](losses.md)",
    "correction": "a [correction](../explanation/corrections.md), or null",
    "categorical_features": '"from_dtype"; a list of booleans, indices or names; or null',
    "random_state": "integer, generator, or null",
    "class": "one of the classes",
    "transition": "K × K numbers, rows sum to 1",
}


def estimators() -> str:
    """Return one section per estimator: its class, what it is, and its parameters."""
    return page(_estimator(kind, estimator) for kind, estimator in core.ESTIMATORS.items())


def losses() -> str:
    """Return the table of losses, and one section per loss: its class, what it is, and its parameters."""
    overview = table(
        ("loss", "other names", "meaning"),
        ((code(kind), ", ".join(map(code, loss.aliases)), loss.help) for kind, loss in core.LOSSES.items()),
    )
    return page((overview, *(_loss(kind, loss) for kind, loss in core.LOSSES.items())))


def noise_kinds() -> str:
    """Return one section per kind of noise: what it does, and its parameters."""
    return page(_section(kind, _summary(noise), noise_parameters(kind)) for kind, noise in core.NOISE_KINDS.items())


def shown_values(parameter: Parameter) -> str:
    """Return what a parameter accepts, in the words of JSON."""
    if not parameter.alternatives:
        return _PARSED_VALUES.get(parameter.name, "")
    return ", or ".join(_alternative(one) for one in parameter.alternatives)


def _estimator(kind: str, estimator: type) -> str:
    return _section(kind, f"`core.{estimator.__name__}`. {_summary(estimator)}", estimator_parameters(kind))


def _loss(kind: str, loss: type) -> str:
    return _section(kind, f"`core.{loss.__name__}`. {_summary(loss)}", loss_parameters(kind))


def _section(kind: str, description: str, declared: Sequence[Parameter]) -> str:
    parameters = table(("parameter", "values", "default", "meaning"), map(_row, declared)) if declared else ""
    return page((f"## `{kind}`", description, parameters))


def _row(parameter: Parameter) -> tuple[str, str, str, str]:
    name = f"{code(parameter.name)} (Python only)" if parameter.server_side else code(parameter.name)
    return name, shown_values(parameter), _default(parameter.default), parameter.help


def _alternative(alternative: Alternative) -> str:
    if alternative.choices:
        return ", ".join(literal(choice) for choice in alternative.choices)
    if alternative.type is types.NoneType:
        return "null"
    if alternative.item is not None:
        whole = "object, each value:" if alternative.type is Mapping else "list, each item:"
        return f"{whole} {_alternative(alternative.item)}"
    names = {bool: "true or false", int: "integer", float: "number", str: "text", Mapping: "object"}
    return f"{names[alternative.type]}{_range(alternative.bounds)}"


def _range(bounds: Bounds) -> str:
    widest = bounds.le is None or bounds.le == _WIDEST_INTEGER
    if bounds.ge is not None and not widest:
        return f" from {bounds.ge:,.10g} to {bounds.le:,.10g}"
    limits = {"at least": bounds.ge, "above": bounds.gt, "at most": None if widest else bounds.le, "below": bounds.lt}
    shown = ", ".join(f"{words} {limit:,.10g}" for words, limit in limits.items() if limit is not None)
    return f" {shown}" if shown else ""


def _default(default: Any) -> str:
    if default is inspect.Parameter.empty:
        return "required"
    return literal(list(default) if isinstance(default, tuple) else default)


def _summary(documented: Any) -> str:
    return " ".join((inspect.getdoc(documented) or "").split("\n\n")[0].split())
