"""GET /models, GET and DELETE /models/{reference}, and GET /models/{reference}/artifact."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import FileResponse

from app.http.entity_tags import names_tag, not_modified
from app.http.error_handlers import responses
from app.http.pagination import FilterText, Page, PageParameters
from app.storage.database import reading, writing
from app.storage.pages import InvalidCursor, UnknownSort
from app.trained_models.dependencies import Context
from app.trained_models.errors import ArtifactMissing, ModelNotFound
from app.trained_models.schemas import TrainedModelOut
from app.trained_models.service import TrainedModelService
from app.trained_models.store import ArtifactStore

router = APIRouter(prefix="/models", tags=["models"])

ARTIFACT_MEDIA_TYPE = "application/octet-stream"


ModelReference = Annotated[
    str,
    Path(description="id, name (latest version), or `name:version` of the model", examples=["credit-risk"]),
]


@router.get(
    "",
    summary="List trained models, newest first",
    description="Sort by `created_at`, `name`, `version`, `fit_seconds`, `size_bytes` or any metric, for example "
    "`sort=-metrics.test.accuracy`; models without that metric come last. An item has only those metrics that are "
    "numbers. Metrics that are lists, such as confusion matrices, are in `GET /models/{reference}`.",
    responses=responses(InvalidCursor, UnknownSort),
)
def list_models(
    context: Context,
    page: PageParameters,
    name: Annotated[FilterText | None, Query()] = None,
    kind: Annotated[FilterText | None, Query(examples=["forest"])] = None,
    dataset_id: Annotated[uuid.UUID | None, Query()] = None,
) -> Page[TrainedModelOut]:
    with reading(context.sessions) as session:
        models = TrainedModelService(session, context.artifact_store)
        records, next_cursor = models.page(page, name=name, kind=kind, dataset_id=dataset_id)
    return Page(items=[TrainedModelOut.list_item(model) for model in records], next_cursor=next_cursor)


@router.get("/{reference}", summary="Get a trained model", responses=responses(ModelNotFound))
def get_model(reference: ModelReference, context: Context) -> TrainedModelOut:
    with reading(context.sessions) as session:
        return TrainedModelOut.from_record(TrainedModelService(session, context.artifact_store).resolve(reference))


@router.delete(
    "/{reference}",
    status_code=204,
    summary="Delete one version of a trained model",
    description="A name without a version means the latest version, as in all other routes.",
    responses=responses(ModelNotFound),
)
def delete_model(reference: ModelReference, context: Context) -> None:
    # Two transactions: the file must not be deleted before the deletion of its row was committed.
    with writing(context.sessions) as session:
        models = TrainedModelService(session, context.artifact_store)
        model = models.resolve(reference)
        models.delete(model)
    with writing(context.sessions) as session:
        TrainedModelService(session, context.artifact_store).drop_artifact(model.artifact_sha256)


@router.get(
    "/{reference}/artifact",
    summary="Download the fitted estimator",
    description="A file that contains no code; `core.load` reads it. The ETag is the SHA-256 of its bytes.",
    response_class=FileResponse,
    responses={
        200: {"content": {ARTIFACT_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}}},
        304: {"description": "The file has the ETag that `If-None-Match` names"},
        **responses(ModelNotFound, ArtifactMissing),
    },
)
def download_artifact(reference: ModelReference, context: Context, request: Request) -> Response:
    with reading(context.sessions) as session:
        model = TrainedModelService(session, context.artifact_store).resolve(reference)
    etag = f'"{model.artifact_sha256}"'
    if names_tag(request.headers.get("if-none-match"), etag):
        return not_modified(etag)
    return FileResponse(
        context.artifact_store.path(model.artifact_sha256),
        media_type=ARTIFACT_MEDIA_TYPE,
        filename=f"{model.name}-{model.version}{ArtifactStore.suffix}",
        headers={"ETag": etag},
    )
