"""GET /predict for one row, POST /predict for many."""

import sys
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from app.http.entity_tags import names_tag, not_modified
from app.http.error_handlers import responses
from app.predictions.body import RawBody, one_form, parse_request
from app.predictions.coercion import Leniency
from app.predictions.dependencies import Service
from app.predictions.errors import FORM_ERRORS, INPUT_ERRORS, Faults
from app.predictions.forms import from_columns, from_query, from_rows
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

#: The answer may be kept, but a name may come to mean a newer version: ask again with the ETag.
CACHING = {"Cache-Control": "private, no-cache"}

RULES = """A feature that is named with an empty value (`null` in JSON) is missing. A feature that is not named at all,
a name that the model does not know, an unseen category, a value that is no finite number and a name given twice are
refused, each with its own code."""


@router.get(
    "",
    summary="Predict one row",
    description="Every other query parameter is a feature: `GET /predict?model=credit-risk&age=41&job=skilled`. "
    f"{RULES} A feature called like a parameter of this route is written `x.NAME`.",
    response_model=SinglePrediction,
    responses={
        304: {"description": "The answer is still the one that `If-None-Match` names"},
        **responses(*MODEL_ERRORS, *INPUT_ERRORS),
    },
)
def predict_one(
    request: Request,
    predictions: Service,
    model: Annotated[str, Query(description="id, name (latest version), or name:version", examples=["credit-risk"])],
    on_unknown: OnUnknown = "error",
    on_missing: OnMissing = "error",
    extra: Extra = "error",
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
    description=f"JSON with `rows` or with `columns`. {RULES} The parameters may stand in the body or in the query.",
    response_model=Predictions,
    responses=responses(*MODEL_ERRORS, *FORM_ERRORS, *INPUT_ERRORS),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": PredictRequest.model_json_schema(), "examples": REQUEST_EXAMPLES}
            },
        }
    },
    # Counted while it is received, where the answer can name the limit; the framework's answer is plain text.
    max_body_size=sys.maxsize,
)
def predict_many(request: Request, body: RawBody, predictions: Service) -> Response:
    asked = parse_request(body, request.query_params)
    one_form(asked)
    faults = Faults()
    served = predictions.open(asked.model)
    encoder = served.encoder
    if asked.columns is not None:
        table = from_columns(asked.columns, encoder.known, faults)
    else:
        table = from_rows(asked.rows or [], encoder.names, faults)
    X = encoder.matrix(table, Leniency(asked.on_unknown, asked.on_missing, asked.extra), faults)
    return JSONResponse({"model": served.reference(), "predictions": served.predictions(X)})
