"""Route GET /predict: the prediction of one row."""

from dataclasses import replace
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BeforeValidator
from starlette.concurrency import run_in_threadpool

from app.access.scopes import Scope, needs
from app.errors import MemoryBusy
from app.http.entity_tags import names_tag, not_modified
from app.http.error_handlers import responses
from app.http.query_names import own_query
from app.predictions.answer_cost import AnswerCost
from app.predictions.answers import answer
from app.predictions.coercion import Leniency
from app.predictions.dependencies import Context, Memory, Service
from app.predictions.errors import INPUT_ERRORS, SIZE_ERRORS, Faults
from app.predictions.forms import from_query
from app.predictions.schemas import (
    MODEL_DESCRIPTION,
    Extra,
    OnMissing,
    OnUnknown,
    Output,
    SinglePrediction,
)
from app.predictions.service import ServedModel
from app.trained_models.errors import ArtifactDamaged, ArtifactMissing, ArtifactUnsupported, ModelNotFound

router = APIRouter(prefix="/predict", tags=["predictions"])

MODEL_ERRORS = (ModelNotFound, ArtifactMissing, ArtifactDamaged, ArtifactUnsupported)

#: A response may be cached but must be revalidated with its ETag, since a name may refer to a newer version later.
CACHING = {"Cache-Control": "private, no-cache"}

RULES = """A feature with an empty value, null, or a text that means "missing" is missing. Text is read as in the data
set that the model was trained on: numbers, dates, booleans and categories. A feature that is not named, a name that is
not a column of that data set, a category that did not occur in training, a value that is not a finite number or not a
date, and a name that occurs twice are refused, each with its own code."""


def _choice(name: str, choices: Any) -> BeforeValidator:
    """Return a validator whose error tells how a feature is written that has the name of the parameter."""
    allowed = get_args(get_args(choices)[0])

    def checked(text: str) -> str:
        if text not in allowed:
            rule = " or ".join(map(repr, allowed))
            raise ValueError(f"{name} is {text!r:.80}; it must be {rule}; write a feature with this name as x.{name}")
        return text

    return BeforeValidator(checked)


@router.get(
    "",
    summary="Predict one row",
    description="All other query parameters are features: `GET /predict?model=credit-risk&age=41&job=skilled`. "
    f"{RULES} A feature that has the name of a parameter of this route is written `x.NAME`.",
    response_model=SinglePrediction,
    dependencies=[own_query(lambda _: None, finds_repeated=True)],
    responses={
        304: {"description": "The prediction is the one that `If-None-Match` names"},
        **responses(*MODEL_ERRORS, *SIZE_ERRORS, MemoryBusy, *INPUT_ERRORS),
    },
)
@needs(Scope.PREDICT)
async def predict_one(
    request: Request,
    context: Context,
    predictions: Service,
    memory: Memory,
    model: Annotated[str, Query(description=MODEL_DESCRIPTION, examples=["credit-risk"])],
    on_unknown: Annotated[OnUnknown, _choice("on_unknown", OnUnknown)] = "error",
    on_missing: Annotated[OnMissing, _choice("on_missing", OnMissing)] = "error",
    extra: Annotated[Extra, _choice("extra", Extra)] = "error",
    output: Annotated[Output, _choice("output", Output)] = "probabilities",
) -> Response:
    served = await run_in_threadpool(predictions.open, model)
    cost = served.cost(1, context.settings.limits)
    await memory.take(cost)
    leniency = Leniency(on_unknown, on_missing, extra)
    return await run_in_threadpool(_one_answered, request, served, leniency, output == "probabilities", cost)


def _one_answered(
    request: Request, served: ServedModel, leniency: Leniency, with_probabilities: bool, cost: AnswerCost
) -> Response:
    faults = Faults()
    table = from_query(request.query_params.multi_items(), served.encoder.known, faults)
    X = served.encoder.matrix(table, leniency, faults)
    etag = served.etag(X) if with_probabilities else f'{served.etag(X)[:-1]}-label"'
    if names_tag(request.headers.get("if-none-match"), etag):
        return not_modified(etag, CACHING)
    predicted = replace(served.predict(X), with_probabilities=with_probabilities)
    pieces = predicted.json_pieces_of_one(served.reference())
    return answer(pieces, cost, {"ETag": etag, **CACHING})
