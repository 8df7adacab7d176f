"""Answers that describe forms."""

from typing import Any, Literal

from pydantic import BaseModel, Field


class AcceptedValue(BaseModel):
    """Type of value that a parameter accepts, with its bounds. Keys that do not apply are left out."""

    type: Literal["integer", "number", "boolean", "string", "choice", "array", "object", "loss", "null"] = Field(
        description="`loss`: the name of a loss, or an object of its kind and parameters, as in `href`"
    )
    choices: list[str] = Field([], description="values of a `choice`")
    minimum: int | float | None = None
    maximum: int | float | None = None
    exclusive_minimum: int | float | None = None
    exclusive_maximum: int | float | None = None
    format: str | None = Field(None, description="form of a `string`, such as `uuid`")
    items: list["AcceptedValue"] = Field([], description="what each entry of an `array` or value of an `object` can be")
    min_items: int | None = None
    max_items: int | None = None
    href: str | None = None


class ParameterForm(BaseModel):
    """Parameter of a form."""

    name: str = Field(description="key in the request", examples=["lambda"])
    help: str = Field(examples=["Number of trees."])
    required: bool
    default: Any = Field(None, description="what leaving the key out means; absent if the parameter is required")
    values: list[AcceptedValue] = Field(description="alternatives, of which one has to apply")


class KindForm(BaseModel):
    """Kind with its parameters; a request has them beside `kind`."""

    kind: str = Field(examples=["forest"])
    help: str
    parameters: list[ParameterForm]


class ModelForm(KindForm):
    """Kind of model."""

    supports_correction: bool = Field(description="whether `noise.correction` can be given with it")
    min_classes: int = Field(description="fewest classes that it can be trained on")


class LossForm(KindForm):
    """Loss."""

    aliases: list[str] = Field(description="other names of the loss")
    needs_two_classes: bool


class CorrectionForm(BaseModel):
    """Correction for label noise; its `kind` is one of the parameters."""

    help: str
    parameters: list[ParameterForm]


class NoiseForms(BaseModel):
    """Forms of `noise` in a training request."""

    inject: list[KindForm]
    correction: CorrectionForm
