"""Request fields of estimators and losses, derived from the signatures in `core`: nothing is written twice."""

import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    create_model,
    model_validator,
)

from core import ESTIMATORS, LOSSES, Loss, parse_loss
from core.service_api import Bounds, Parameter, estimator_parameters, loss_parameters

_ALIASES = {alias: kind for kind, loss in LOSSES.items() for alias in loss.aliases}


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True)


class _EstimatorSpec(_Spec):
    @model_validator(mode="after")
    def _parameters_fit_together(self) -> Self:
        """Refuse what a fit would refuse before it has seen data; the error is a ValueError, as pydantic expects."""
        ESTIMATORS[kind_of(self)](**constructor_arguments(self)).phases()
        return self


def _request_type(annotation: Any) -> Any:
    """The annotation with `core`'s bounds as pydantic's; numbers are strict, so that "5" and true are no numbers."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *marks = get_args(annotation)
        bounds = next((mark for mark in marks if isinstance(mark, Bounds)), None)
        return _bounded(_request_type(inner), bounds) if bounds else _request_type(inner)
    if origin in (Union, types.UnionType):
        return Union[tuple(_request_type(member) for member in get_args(annotation))]  # noqa: UP007
    if origin is tuple:
        return Annotated[list[_request_type(get_args(annotation)[0])], Field(min_length=1, max_length=100)]  # type: ignore[misc]
    if origin is Mapping:
        return Annotated[dict[str, _request_type(get_args(annotation)[1])], Field(min_length=1)]  # type: ignore[misc]
    return Annotated[annotation, Field(strict=True)] if annotation in (int, float, bool) else annotation


def _bounded(annotation: Any, bounds: Bounds) -> Any:
    limits = {name: value for name, value in vars(bounds).items() if value is not None}
    members = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    bounded = [m if m is types.NoneType else Annotated[m, Field(allow_inf_nan=False, **limits)] for m in members]
    return Union[tuple(bounded)]  # noqa: UP007


def _field(parameter: Parameter, annotation: Any) -> Any:
    default = list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default
    return (annotation, Field(default, alias=parameter.name, description=parameter.help))


def _loss_spec(kind: str, loss: type[Loss]) -> type[BaseModel]:
    fields = {p.argument: _field(p, _request_type(p.annotation)) for p in loss_parameters(kind)}
    return _created(f"{loss.__name__}Loss", kind, loss.help, fields)


def _created(
    name: str, kind: str, doc: str | None, fields: dict[str, Any], base: type[BaseModel] = _Spec
) -> type[BaseModel]:
    kind_field: Any = (Literal[kind], Field(kind))
    spec: type[BaseModel] = create_model(name, __base__=base, __doc__=doc, kind=kind_field, **fields)
    return spec


def _spelled_out(loss: Any) -> Any:
    """A bare name becomes an object, an alias the name it stands for."""
    given = {"kind": loss} if isinstance(loss, str) else loss
    if isinstance(given, Mapping) and isinstance(given.get("kind"), str):
        return {**given, "kind": _ALIASES.get(given["kind"], given["kind"])}
    return given


def _checked(spec: Any) -> Any:
    """Rules that no field tells alone, such as which parameters a distribution has: `core` knows them."""
    parse_loss(spec.model_dump(mode="json"))
    return spec


def _union(specs: list[type[BaseModel]]) -> Any:
    return Annotated[Union[tuple(specs)], Field(discriminator="kind")]  # noqa: UP007


def _model_spec(kind: str) -> type[BaseModel]:
    offered = [p for p in estimator_parameters(kind) if not p.server_side]
    fields = {p.argument: _field(p, _request_type(p.annotation)) for p in offered if p.name != "loss"}
    loss = next(p for p in offered if p.name == "loss")
    fields["loss"] = (LossSpec, Field(loss.default, validate_default=True, description=loss.help))
    estimator = ESTIMATORS[kind]
    name = estimator.__name__.replace("Classifier", "Spec")
    return _created(name, kind, estimator.__doc__, fields, _EstimatorSpec)


if TYPE_CHECKING:
    LossSpec = BaseModel
    ModelSpec = BaseModel
else:
    LossSpec = Annotated[
        _union([_loss_spec(kind, loss) for kind, loss in LOSSES.items()]),
        BeforeValidator(_spelled_out),
        AfterValidator(_checked),
    ]
    ModelSpec = _union([_model_spec(kind) for kind in ESTIMATORS])


def kind_of(model: BaseModel) -> str:
    """ "tree", "forest", ..."""
    return str(model.model_dump(include={"kind"})["kind"])


def constructor_arguments(model: BaseModel) -> dict[str, Any]:
    """What to call the estimator's class with; `loss` in its JSON form, which `core` takes as it is."""
    return model.model_dump(mode="json", exclude={"kind"})
