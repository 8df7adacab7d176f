"""Routes of predictions: GET /predict for one row, POST /predict for many rows."""

import sys
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BeforeValidator

from app.http.entity_tags import names_tag, not_modified
from app.http.error_handlers import responses
from app.http.query_names import own_query
from app.predictions.body import RawBody, parse_document
from app.predictions.coercion import Leniency
from app.predictions.dependencies import Service
from app.predictions.errors import FORM_ERRORS, INPUT_ERRORS, Faults
from app.predictions.forms import RESERVED, from_columns, from_query, from_rows
from app.predictions.schemas import (
    REQUEST_EXAMPLES,
    Extra,
    OnMissing,
    OnUnknown,
    Predictions,
    PredictRequest,
    SinglePrediction,
)
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
    dependencies=[own_query(lambda _: None)],
    responses={
        304: {"description": "The prediction is the one that `If-None-Match` names"},
        **responses(*MODEL_ERRORS, *INPUT_ERRORS),
    },
)
def predict_one(
    request: Request,
    predictions: Service,
    model: Annotated[
        str, Query(description="Id of a model, its name (latest version), or `name:version`.", examples=["credit-risk"])
    ],
    on_unknown: Annotated[OnUnknown, _choice("on_unknown", OnUnknown)] = "error",
    on_missing: Annotated[OnMissing, _choice("on_missing", OnMissing)] = "error",
    extra: Annotated[Extra, _choice("extra", Extra)] = "error",
) -> Response:
    faults = Faults()
    served = predictions.open(model)
    table = from_query(request.query_params.multi_items(), served.encoder.known, faults)
    X = served.encoder.matrix(table, Leniency(on_unknown, on_missing, extra), faults)
    etag = served.etag(X)
    if names_tag(request.headers.get("if-none-match"), etag):
        return not_modified(etag, CACHING)
    [prediction] = served.predictions(X)
    return JSONResponse({"model": served.reference(), **prediction}, headers={"ETag": etag, **CACHING})


@router.post(
    "",
    summary="Predict many rows",
    description=f"The body is JSON with either `rows` or `columns`. {RULES} Parameters may be given in the body or in "
    "the query.",
    response_model=Predictions,
    dependencies=[own_query(lambda _: frozenset(RESERVED))],
    responses=responses(*MODEL_ERRORS, *FORM_ERRORS, *INPUT_ERRORS),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": PredictRequest.model_json_schema(), "examples": REQUEST_EXAMPLES}
            },
        }
    },
    # The limit is checked while the body is received, so that the error names it; the framework's is plain text.
    max_body_size=sys.maxsize,
)
def predict_many(request: Request, body: RawBody, predictions: Service) -> Response:
    requested = PredictRequest.from_document(parse_document(body, request.query_params))
    faults = Faults()
    served = predictions.open(requested.model)
    encoder = served.encoder
    if requested.columns is not None:
        table = from_columns(requested.columns, encoder.known, faults)
    else:
        table = from_rows(requested.rows or [], encoder.names, faults)
    X = encoder.matrix(table, Leniency(requested.on_unknown, requested.on_missing, requested.extra), faults)
    return JSONResponse({"model": served.reference(), "predictions": served.predictions(X)})
