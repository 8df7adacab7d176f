"""Parameters as data: bounds and help, declared once in the signature of a constructor.

    max_depth: Annotated[int | None, Bounds(ge=1), Help("...")] = None

The members of a union may have bounds of their own: `Annotated[int, Bounds(ge=1)] | Annotated[float, Bounds(gt=0)]
| None`. Estimators check their arguments against these declarations; request schemas and forms are derived from them.
"""

import inspect
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from core.exceptions import InvalidParameter


@dataclass(frozen=True)
class Bounds:
    """Limits of a number, named as in pydantic: lower limits ge and gt, upper limits le and lt."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None

    def contains(self, value: Any) -> bool:
        """Return whether `value` is within the limits; NaN, infinity and integers beyond float64 never are."""
        return (
            _is_finite(value)
            and (self.ge is None or value >= self.ge)
            and (self.gt is None or value > self.gt)
            and (self.le is None or value <= self.le)
            and (self.lt is None or value < self.lt)
        )

    def __str__(self) -> str:
        words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
        limits = [(words[f.name], getattr(self, f.name)) for f in fields(self)]
        return " and ".join(f"{word} {limit:.10g}" for word, limit in limits if limit is not None)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


@dataclass(frozen=True)
class Help:
    """One-line description for people who choose a value."""

    text: str


@dataclass(frozen=True)
class Key:
    """Name in JSON, where the name in Python must differ (`lambda` is a keyword)."""

    name: str


@dataclass(frozen=True)
class _ServerSide:
    """Mark of a parameter that clients of a service do not set within a model.

    These are the number of threads, and the seed and the correction, which have request fields of their own.
    """


SERVER_SIDE = _ServerSide()


@dataclass(frozen=True)
class Alternative:
    """One of the types that a parameter may have.

    `choices` are the values of a literal, `item` is the alternative of the members of a list or values of a mapping.
    """

    type: Any
    bounds: Bounds = field(default_factory=Bounds)
    choices: tuple[Any, ...] = ()
    item: "Alternative | None" = None

    def accepts(self, value: Any) -> bool:
        """Return whether `value` has this type and is within its bounds. numpy numbers are numbers, bools are not."""
        if self.choices:
            return isinstance(value, str) and value in self.choices
        if self.type in (int, float):
            kind = Integral if self.type is int else Real
            return isinstance(value, kind) and not isinstance(value, bool) and self.bounds.contains(value)
        if self.type is Mapping and self.item is not None:
            item = self.item
            return isinstance(value, Mapping) and all(item.accepts(one) for one in value.values())
        if self.item is not None:
            item = self.item
            return isinstance(value, list | tuple) and len(value) > 0 and all(item.accepts(one) for one in value)
        return isinstance(value, self.type)

    def __str__(self) -> str:
        if self.choices:
            return " or ".join(repr(choice) for choice in self.choices)
        if self.type is types.NoneType:
            return "None"
        if self.item is not None:
            return f"a {'mapping to' if self.type is Mapping else 'list of'} ({self.item})"
        article = {bool: "True or False", int: "an integer", float: "a number", Mapping: "a mapping"}
        return f"{article.get(self.type, self.type.__name__)} {self.bounds}".strip()


@dataclass(frozen=True)
class Parameter:
    """One constructor parameter; `name` is its name in JSON, `argument` its name in Python."""

    name: str
    argument: str
    annotation: Any
    default: Any
    alternatives: tuple[Alternative, ...]
    help: str
    server_side: bool

    @property
    def bounds(self) -> Bounds | None:
        """Return the bounds of the first number among the alternatives, or None."""
        return next((one.bounds for one in self.alternatives if one.type in (int, float)), None)

    def check(self, value: Any, owner: str) -> None:
        """Raise InvalidParameter unless an alternative accepts `value`. Self-checked parameters accept everything."""
        if self.alternatives and not any(one.accepts(value) for one in self.alternatives):
            rule = ", or ".join(str(one) for one in self.alternatives)
            raise InvalidParameter(f"{self.name} of {owner} is {value!r}; it must be {rule}.")

    def convert(self, value: Any) -> Any:
        """Return an accepted value as floats if the parameter is a number or a list of numbers, otherwise unchanged."""
        if len(self.alternatives) != 1:
            return value
        (only,) = self.alternatives
        if only.type is float:
            return float(value)
        if only.type is tuple and only.item is not None and only.item.type is float:
            return tuple(float(one) for one in value)
        return value


def _alternatives(annotation: Any, bounds: Bounds) -> list[Alternative]:
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *marks = get_args(annotation)
        return _alternatives(inner, next((m for m in marks if isinstance(m, Bounds)), bounds))
    if origin in (Union, types.UnionType):
        return [one for member in get_args(annotation) for one in _alternatives(member, bounds)]
    if origin is Literal:
        return [Alternative(str, choices=get_args(annotation))]
    if origin is tuple:
        return [Alternative(tuple, item=_alternatives(get_args(annotation)[0], bounds)[0])]
    if origin is Mapping:
        return [Alternative(Mapping, item=_alternatives(get_args(annotation)[1], bounds)[0])]
    return [Alternative(origin or annotation, bounds if annotation in (int, float) else Bounds())]


def _mark(annotation: Any, kind: type) -> Any:
    marks = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return next((mark for mark in marks if isinstance(mark, kind)), None)


def parameters_of(constructor: Any) -> tuple[Parameter, ...]:
    """Return the parameters of a class or function, in the order of its signature."""
    return _read_signature(constructor)


@cache
def _read_signature(constructor: Callable[..., Any]) -> tuple[Parameter, ...]:
    target = constructor.__init__ if inspect.isclass(constructor) else constructor
    hints = get_type_hints(target, include_extras=True)
    arguments = [p for p in inspect.signature(constructor).parameters.values() if p.name in hints]
    return tuple(_parameter(p.name, hints[p.name], p.default) for p in arguments)


def _parameter(argument: str, annotation: Any, default: Any) -> Parameter:
    key, text = _mark(annotation, Key), _mark(annotation, Help)
    unchecked = _mark(annotation, _SelfChecked) is not None
    return Parameter(
        name=key.name if key else argument,
        argument=argument,
        annotation=annotation,
        default=default,
        alternatives=() if unchecked else tuple(_alternatives(annotation, Bounds())),
        help=text.text if text else "",
        server_side=_mark(annotation, _ServerSide) is not None,
    )


@dataclass(frozen=True)
class _SelfChecked:
    """Mark of a parameter that is checked where it is parsed."""


SELF_CHECKED = _SelfChecked()
