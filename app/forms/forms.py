"""Forms of training requests, derived from the JSON schemas of the request, so that no parameter is written twice.

The JSON schemas come from the parameters that `core` declares (`app.requests.derived_specs`).
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel

from app.requests.compatibility import TREE_COUNTS
from app.requests.estimator_specs import LossSpec, ModelSpec
from app.requests.evaluation_specs import EvaluationSpec
from app.requests.noise_specs import CorrectionSpec, InjectionSpec
from core import ESTIMATORS, LOSSES
from core.service_api import estimator_parameters

Form = dict[str, Any]

_LIMITS = {
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusiveMinimum": "exclusive_minimum",
    "exclusiveMaximum": "exclusive_maximum",
    "minItems": "min_items",
    "maxItems": "max_items",
    "minProperties": "min_items",
    "maxProperties": "max_items",
    "format": "format",
}


@cache
def model_forms(max_trees: int) -> list[Form]:
    """Return the form of each kind of model. max_trees: limit of the service on the number of trees."""
    return [_model_form(form, max_trees) for form in _forms(ModelSpec)]


@cache
def loss_forms() -> list[Form]:
    """Return the form of each loss."""
    return [
        {
            **form,
            "aliases": list(LOSSES[form["kind"]].aliases),
            "needs_two_classes": LOSSES[form["kind"]].needs_two_classes,
        }
        for form in _forms(LossSpec)
    ]


@cache
def noise_forms() -> list[Form]:
    """Return the form of each kind of noise that can be injected."""
    return _forms(InjectionSpec)


@cache
def correction_form() -> Form:
    """Return the form of a correction, whose kind is a parameter like the others."""
    schema = CorrectionSpec.model_json_schema()
    return {"help": _first_paragraph(schema["description"]), "parameters": _parameters(schema, ())}


@cache
def evaluation_forms() -> list[Form]:
    """Return the form of each way to score a model."""
    return _forms(EvaluationSpec)


def _model_form(form: Form, max_trees: int) -> Form:
    supports_correction = any(parameter.name == "correction" for parameter in estimator_parameters(form["kind"]))
    parameters = [_with_limit(parameter, max_trees) for parameter in form["parameters"]]
    return {
        **form,
        "parameters": parameters,
        "supports_correction": supports_correction,
        "min_classes": ESTIMATORS[form["kind"]].min_classes,
    }


def _with_limit(parameter: Form, max_trees: int) -> Form:
    if parameter["name"] not in TREE_COUNTS:
        return parameter
    values = [{**value, "maximum": min(value["maximum"], max_trees)} for value in parameter["values"]]
    return {**parameter, "values": values}


def _forms(specs: Any) -> list[Form]:
    """Return the forms of a union of request schemas, which its `kind` tells apart."""
    return [_form(spec) for spec in get_args(get_args(specs)[0])]


def _form(spec: type[BaseModel]) -> Form:
    schema = spec.model_json_schema()
    return {
        "kind": schema["properties"]["kind"]["const"],
        "help": _first_paragraph(schema["description"]),
        "parameters": _parameters(schema, ("kind",)),
    }


def _parameters(schema: Mapping[str, Any], left_out: tuple[str, ...]) -> list[Form]:
    required = schema.get("required", ())
    fields = schema["properties"].items()
    return [_parameter(name, field, name in required) for name, field in fields if name not in left_out]


def _parameter(name: str, field: Mapping[str, Any], required: bool) -> Form:
    default = {} if required else {"default": field["default"]}
    return {
        "name": name,
        "help": _first_paragraph(field.get("description", "")),
        "required": required,
        **default,
        "values": list(_values(field)),
    }


def _values(schema: Mapping[str, Any]) -> Iterator[Form]:
    """Yield what a field accepts: one entry per type."""
    if "discriminator" in schema:
        yield {"type": "loss", "href": "/schema/losses"}
    elif "anyOf" in schema:
        # A loss has a form of its own, which lists the names that it may be given by.
        for member in [one for one in schema["anyOf"] if "discriminator" in one] or schema["anyOf"]:
            yield from _values(member)
    elif "const" in schema or "enum" in schema:
        yield {"type": "choice", "choices": schema.get("enum", [schema.get("const")])}
    else:
        limits = {ours: schema[theirs] for theirs, ours in _LIMITS.items() if theirs in schema}
        entries = schema.get("items") or schema.get("additionalProperties")
        yield {"type": schema["type"], **limits, **({"items": list(_values(entries))} if entries else {})}


def _first_paragraph(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())
