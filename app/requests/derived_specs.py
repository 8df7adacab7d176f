"""Request fields derived from the parameters that `core` declares, so that no parameter is declared twice."""

import inspect
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from app.requests.request_model import RequestModel
from core.service_api import Bounds, Parameter

MAX_LIST_LENGTH = 100
#: Classes of a data set, and so rows and columns of a matrix.
MAX_CLASSES = 1000
_MATRIX_EXAMPLE = [[0.8, 0.2], [0.3, 0.7]]


class DerivedSpec(RequestModel):
    """One kind of estimator, loss or noise, as a request names it."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True)

    kind: str


Spec = TypeVar("Spec", bound=BaseModel)


def create_spec(
    name: str, base: type[Spec], doc: str | None, parameters: Iterable[Parameter], **fields: Any
) -> type[Spec]:
    """Create a request schema with one field per parameter.

    `fields` are further fields as pydantic takes them; one that has the name of a parameter replaces it.
    """
    derived = {parameter.argument: _field(parameter) for parameter in parameters if parameter.argument not in fields}
    return create_model(name, __base__=base, __doc__=doc, **(derived | fields))


def kind_field(kind: str, *, required: bool) -> Any:
    """Return the field that tells the members of a union apart."""
    return (Literal[kind], Field() if required else Field(kind))


def union_by_kind(specs: Sequence[type[BaseModel]]) -> Any:
    """Return the type of a request field that accepts any of `specs`."""
    return Annotated[Union[tuple(specs)], Field(discriminator="kind")]  # noqa: UP007


def _field(parameter: Parameter) -> Any:
    settings: dict[str, Any] = {"alias": parameter.name, "description": parameter.help}
    if parameter.default is not inspect.Parameter.empty:
        default = parameter.default
        settings["default"] = list(default) if isinstance(default, tuple) else default
    return (_request_type(parameter.annotation), Field(**settings))


def _request_type(annotation: Any) -> Any:
    """Return the annotation with the bounds of `core` as those of pydantic, without members that JSON does not have.

    Numbers are strict, so that neither "5" nor true is accepted as a number.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        bounds = next((mark for mark in arguments[1:] if isinstance(mark, Bounds)), None)
        inner = _request_type(arguments[0])
        return _bounded(inner, bounds) if bounds else inner
    if origin in (Union, types.UnionType):
        members = tuple(_request_type(member) for member in arguments if _is_json(member))
        return Union[members]  # noqa: UP007
    if origin is tuple:
        return _list(arguments)
    if origin is Sequence:
        return _matrix(arguments[0])
    if origin is Mapping:
        values: Any = dict[str, _request_type(arguments[1])]  # type: ignore[misc]
        return Annotated[values, Field(min_length=1, max_length=MAX_CLASSES), BeforeValidator(_few_entries)]
    if annotation is float:
        return Annotated[float, Field(strict=True, allow_inf_nan=False)]
    return Annotated[annotation, Field(strict=True)] if annotation in (int, bool) else annotation


def _is_json(annotation: Any) -> bool:
    """Return whether values of this type can be written in JSON; a class of `core` cannot."""
    return not isinstance(annotation, type) or annotation in (bool, int, float, str, types.NoneType)


def _list(arguments: tuple[Any, ...]) -> Any:
    """Return the type of a list: of any length for `tuple[item, ...]`, else with one item per argument of the tuple."""
    item: Any = _request_type(arguments[0])
    if arguments[-1] is Ellipsis:
        return Annotated[list[item], Field(min_length=1, max_length=MAX_LIST_LENGTH)]
    return Annotated[list[item], Field(min_length=len(arguments), max_length=len(arguments))]


def _matrix(row: Any) -> Any:
    """Return the type of a matrix: a list of rows of numbers, one row per class."""
    number: Any = _request_type(get_args(row)[0])
    # An error of each of a million numbers would take a gigabyte; the first one of each row is enough.
    rows: Any = Annotated[list[number], Field(max_length=MAX_CLASSES, fail_fast=True)]
    return Annotated[list[rows], Field(min_length=1, max_length=MAX_CLASSES, examples=[_MATRIX_EXAMPLE])]


def _few_entries(value: Any) -> Any:
    """Raise ValueError for an object with more entries than there can be classes, before each of them is validated."""
    if isinstance(value, dict) and len(value) > MAX_CLASSES:
        raise ValueError(f"the object has {len(value):,} entries; it can have at most {MAX_CLASSES}, one per class")
    return value


def _bounded(annotation: Any, bounds: Bounds) -> Any:
    limits = {name: value for name, value in vars(bounds).items() if value is not None}
    members = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    bounded = [m if m is types.NoneType else Annotated[m, Field(allow_inf_nan=False, **limits)] for m in members]
    return Union[tuple(bounded)]  # noqa: UP007
