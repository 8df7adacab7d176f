"""Routes of the Open Inference Protocol, version 2: health, metadata and inference."""

from importlib.metadata import version as version_of
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from starlette.concurrency import run_in_threadpool

from app.access.scopes import Scope, needs, open_to_all
from app.http.error_handlers import responses
from app.http.json_body import JSON_ERRORS, json_request_body
from app.predictions.answers import answer, predicted_table, rows_per_part
from app.predictions.dependencies import Context, Memory, Service, TensorsIntake
from app.predictions.endpoints import MODEL_ERRORS
from app.predictions.errors import INPUT_ERRORS, SIZE_ERRORS, NoRows, RaggedColumns
from app.predictions.inference_schemas import (
    INFER_EXAMPLE,
    InferAnswer,
    InferRequest,
    ModelMetadata,
    ModelReady,
    ServerLive,
    ServerMetadata,
    TensorMetadata,
)
from app.predictions.remote_rows import READING_ERRORS
from app.predictions.service import ServedModel
from app.predictions.tensors import LABEL, PROBABILITIES, TensorAnswer, datatype
from app.trained_models.service import versions_of

router = APIRouter(prefix="/v2", tags=["inference"])

PLATFORM = "bristlecone"

ModelName = Annotated[str, Path(description="Name of a model, or its id or `@alias`.", examples=["credit-risk"])]
ModelVersion = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.get("", summary="Server metadata of the Open Inference Protocol")
@needs(Scope.PREDICT)
async def server_metadata() -> ServerMetadata:
    return ServerMetadata(name="bristlecone", version=version_of("bristlecone"), extensions=[])


@router.get("/health/live", summary="Check whether this process is alive, by the Open Inference Protocol")
@open_to_all
async def live() -> ServerLive:
    return ServerLive()


@router.get(
    "/models/{name}", summary="Model metadata of the Open Inference Protocol", responses=responses(*MODEL_ERRORS)
)
@needs(Scope.PREDICT)
def model_metadata(name: ModelName, context: Context, predictions: Service) -> ModelMetadata:
    return _metadata(predictions.open(name), context)


@router.get(
    "/models/{name}/versions/{version}",
    summary="Metadata of one version of a model",
    responses=responses(*MODEL_ERRORS),
)
@needs(Scope.PREDICT)
def version_metadata(name: ModelName, version: ModelVersion, context: Context, predictions: Service) -> ModelMetadata:
    return _metadata(predictions.open(f"{name}:{version}"), context)


@router.get("/models/{name}/ready", summary="Check whether a model can be used", responses=responses(*MODEL_ERRORS))
@needs(Scope.PREDICT)
def model_ready(name: ModelName, predictions: Service) -> ModelReady:
    return ModelReady(name=predictions.open(name).name)


@router.get(
    "/models/{name}/versions/{version}/ready",
    summary="Check whether one version of a model can be used",
    responses=responses(*MODEL_ERRORS),
)
@needs(Scope.PREDICT)
def version_ready(name: ModelName, version: ModelVersion, predictions: Service) -> ModelReady:
    return ModelReady(name=predictions.open(f"{name}:{version}").name)


def _metadata(served: ServedModel, context: Context) -> ModelMetadata:
    inputs = [TensorMetadata(name=one.name, datatype=datatype(one), shape=[-1]) for one in served.encoder.columns]
    return ModelMetadata(
        name=served.name,
        versions=[str(number) for number in versions_of(context.sessions, served.name)],
        platform=PLATFORM,
        inputs=inputs,
        outputs=[
            TensorMetadata(name=LABEL, datatype="BYTES", shape=[-1]),
            TensorMetadata(name=PROBABILITIES, datatype="FP64", shape=[-1, len(served.labels)]),
        ],
    )


_INFER: dict[str, Any] = {
    "response_model": InferAnswer,
    "responses": responses(
        *JSON_ERRORS, *SIZE_ERRORS, *MODEL_ERRORS, NoRows, RaggedColumns, *INPUT_ERRORS, *READING_ERRORS
    ),
    "openapi_extra": json_request_body(InferRequest, {"two rows": {"value": INFER_EXAMPLE}}),
}


@router.post(
    "/models/{name}/infer",
    summary="Predict rows by the Open Inference Protocol",
    description="One tensor for each feature, of shape [n] or [n, 1]; null is a missing value. The outputs are "
    "`label`, the text of the most probable class, and `probabilities`, of shape [n, classes], whose parameter "
    "`classes` names the columns. The rules for odd values are those of `POST /predict`. Binary tensor data is not "
    "supported.",
    **_INFER,
)
@needs(Scope.PREDICT)
async def infer(request: Request, name: ModelName, context: Context, intake: TensorsIntake, memory: Memory) -> Response:
    return await _inferred(request, name, context, intake, memory)


@router.post(
    "/models/{name}/versions/{version}/infer",
    summary="Predict rows with one version of a model by the Open Inference Protocol",
    **_INFER,
)
@needs(Scope.PREDICT)
async def infer_version(
    request: Request, name: ModelName, version: ModelVersion, context: Context, intake: TensorsIntake, memory: Memory
) -> Response:
    return await _inferred(request, f"{name}:{version}", context, intake, memory)


async def _inferred(
    request: Request, reference: str, context: Context, intake: TensorsIntake, memory: Memory
) -> Response:
    requested, batch = await intake.batch(request, reference)
    limits = context.settings.limits
    cost = batch.served.cost(batch.rows.n_rows, limits)
    await memory.take(batch.served.cost(min(batch.rows.n_rows, rows_per_part(batch.served)), limits))
    made = TensorAnswer(predicted_table(batch), batch.rows.n_rows, requested.output_names, requested.id)
    return await run_in_threadpool(answer, made.pieces(), cost)
