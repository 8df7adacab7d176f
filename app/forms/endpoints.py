"""Routes that describe the forms of a training request: GET /schema/…."""

from typing import Any

from fastapi import APIRouter

from app.access.scopes import Scope, needs
from app.forms import forms
from app.forms.schemas import KindForm, LossForm, ModelForm, NoiseForms
from app.http.dependencies import Context

router = APIRouter(prefix="/schema", tags=["forms"])

_EXPLANATION = "Every kind with its parameters, their types, bounds and defaults, and a line of help."


@router.get(
    "/models",
    summary="Describe the kinds of models",
    description=f"What `model` of `POST /train` can be. {_EXPLANATION} The number of trees is bounded by the limit of "
    "this service.",
    response_model=list[ModelForm],
    response_model_exclude_unset=True,
)
@needs(Scope.READ)
def describe_models(context: Context) -> Any:
    return forms.model_forms(context.settings.limits.max_trees)


@router.get(
    "/losses",
    summary="Describe the losses",
    description=f"What `loss` of a model can be. {_EXPLANATION}",
    response_model=list[LossForm],
    response_model_exclude_unset=True,
)
@needs(Scope.READ)
def describe_losses() -> Any:
    return forms.loss_forms()


@router.get(
    "/noise",
    summary="Describe label noise and its correction",
    description=f"What `noise` of `POST /train` can be. {_EXPLANATION}",
    response_model=NoiseForms,
    response_model_exclude_unset=True,
)
@needs(Scope.READ)
def describe_noise() -> Any:
    return {"inject": forms.noise_forms(), "correction": forms.correction_form()}


@router.get(
    "/evaluation",
    summary="Describe the ways to score a model",
    description=f"What `evaluation` of `POST /train` can be. {_EXPLANATION}",
    response_model=list[KindForm],
    response_model_exclude_unset=True,
)
@needs(Scope.READ)
def describe_evaluation() -> Any:
    return forms.evaluation_forms()
