"""Request fields of estimators and losses, derived from their signatures in `core`."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, model_validator

from app.requests.derived_specs import DerivedSpec, create_spec, kind_field, union_by_kind
from core import ESTIMATORS, LOSSES, Loss, parse_loss
from core.service_api import estimator_parameters, loss_parameters

_ALIASES = {alias: kind for kind, loss in LOSSES.items() for alias in loss.aliases}


class EstimatorSpec(DerivedSpec):
    """Kind of an estimator with its constructor parameters."""

    @property
    def estimator_class(self) -> Any:
        """Class of the estimator in `core`."""
        return ESTIMATORS[self.kind]

    def constructor_arguments(self) -> dict[str, Any]:
        """Return the arguments of the estimator's constructor; `loss` is in its JSON form, which `core` accepts."""
        return self.model_dump(mode="json", exclude={"kind"})

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        """Refuse what a fit would refuse before it reads any rows; `core` raises ValueErrors, as pydantic expects."""
        self.estimator_class(**self.constructor_arguments()).phases()
        return self


def _loss_spec(kind: str, loss: type[Loss]) -> type[BaseModel]:
    name, parameters = f"{loss.__name__}Loss", loss_parameters(kind)
    return create_spec(name, DerivedSpec, loss.help, parameters, kind=kind_field(kind, required=False))


def _as_object(spec: Any, example: str) -> Any:
    """Return a spec that is given by its kind alone as an object. `example` is a kind, for the error."""
    if isinstance(spec, int | float | list | None):
        rule = f'neither an object with a kind nor a kind alone, such as "{example}"'
        raise ValueError(f"{json.dumps(spec)[:80]} is {rule}")
    return {"kind": spec} if isinstance(spec, str) else spec


def _model_as_object(model: Any) -> Any:
    """Return a model that is given by its kind alone as an object."""
    return _as_object(model, "forest")


def _canonical_form(loss: Any) -> Any:
    """Return a loss that is given by its name as an object, and an alias as the name that it stands for."""
    spec = _as_object(loss, "gini")
    if isinstance(spec, Mapping) and isinstance(spec.get("kind"), str):
        return {**spec, "kind": _ALIASES.get(spec["kind"], spec["kind"])}
    return spec


def _checked(spec: Any) -> Any:
    """Apply the rules of `core` that concern several fields, such as the parameters that a distribution has."""
    parse_loss(spec.model_dump(mode="json"))
    return spec


def _model_spec(kind: str) -> type[EstimatorSpec]:
    estimator = ESTIMATORS[kind]
    parameters = [p for p in estimator_parameters(kind) if not p.server_side]
    loss_fields = {
        parameter.name: (LossSpec, Field(parameter.default, validate_default=True, description=parameter.help))
        for parameter in parameters
        if parameter.name == "loss"
    }
    return create_spec(
        estimator.__name__.replace("Classifier", "Spec"),
        EstimatorSpec,
        estimator.__doc__,
        parameters,
        kind=kind_field(kind, required=False),
        **loss_fields,
    )


if TYPE_CHECKING:
    LossSpec = BaseModel
    ModelSpec = EstimatorSpec
    EstimatorKind = str
else:
    EstimatorKind = Literal[*ESTIMATORS]
    _Loss = union_by_kind([_loss_spec(kind, loss) for kind, loss in LOSSES.items()])
    LossSpec = Annotated[
        _Loss,
        BeforeValidator(_canonical_form, json_schema_input_type=_Loss | Literal[*LOSSES, *_ALIASES]),
        AfterValidator(_checked),
    ]
    _Model = union_by_kind([_model_spec(kind) for kind in ESTIMATORS])
    ModelSpec = Annotated[_Model, BeforeValidator(_model_as_object, json_schema_input_type=_Model | EstimatorKind)]
