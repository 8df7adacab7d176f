"""Routes of single models and their lists: GET /models, and /models/{reference}."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import FileResponse
from pydantic import AfterValidator

from app.access.scopes import Scope, needs
from app.datasets.dependencies import DatasetFilter
from app.datasets.errors import DatasetNotFound
from app.errors import StorageFull
from app.http.entity_tags import names_tag, not_modified
from app.http.error_handlers import responses
from app.http.json_body import JSON_ERRORS, json_body, json_request_body
from app.http.large_answers import LARGE_ANSWER_ERRORS, Answer
from app.http.pagination import FilterText, NameContains, Page, PageParameters
from app.requests.estimator_specs import EstimatorKind
from app.storage.database import reading
from app.storage.pages import InvalidCursor, UnknownSort
from app.trained_models import service
from app.trained_models.comparison import compare_models
from app.trained_models.dependencies import Context, ModelResources
from app.trained_models.errors import ArtifactMissing, ModelInUse, ModelNotFound
from app.trained_models.names import REFERENCE_FORMS
from app.trained_models.registry_schemas import ModelChanges, ModelComparison
from app.trained_models.schemas import TrainedModelItem, TrainedModelOut
from app.trained_models.service import TrainedModelService
from app.trained_models.store import ArtifactStore

router = APIRouter(prefix="/models", tags=["models"])

MAX_COMPARED = 20
ARTIFACT_MEDIA_TYPE = "application/octet-stream"


ModelReference = Annotated[
    str,
    Path(description=REFERENCE_FORMS, examples=["credit-risk"]),
]


@router.get(
    "",
    summary="List trained models, newest first",
    description="Sort by `created_at`, `name`, `version`, `fit_seconds`, `size_bytes` or any metric, for example "
    "`sort=-metrics.test.accuracy`; models without that metric come last. An item has only those metrics that are "
    "numbers, and no matrices, features or classes; all of these are in `GET /models/{reference}`.",
    responses=responses(InvalidCursor, UnknownSort, DatasetNotFound),
)
@needs(Scope.READ)
def list_models(
    context: Context,
    page: PageParameters,
    dataset_id: DatasetFilter,
    name: Annotated[FilterText | None, Query()] = None,
    kind: Annotated[EstimatorKind | None, Query(examples=["forest"])] = None,
    name_contains: NameContains = None,
) -> Page[TrainedModelItem]:
    with reading(context.sessions) as session:
        models = TrainedModelService(session, context.artifact_store)
        listed = models.page(page, name=name, kind=kind, dataset_id=dataset_id, name_contains=name_contains)
        pointers = models.pointers([model.id for model in listed.items])
    return Page.of(listed, lambda model: TrainedModelItem.from_record(model, pointers))


def _references(text: str) -> str:
    """Return a list of references as it is. Raises ValueError if it names too few or too many models."""
    n_models = len(text.split(","))
    if not 2 <= n_models <= MAX_COMPARED:
        raise ValueError(f"ids has {n_models} references; it must have 2 to {MAX_COMPARED}, separated by commas")
    return text


@router.get(
    "/compare",
    summary="Compare trained models",
    description="Every answer has one value per model, in the order of `ids`, and whether the values differ. Values of "
    "nested objects have dotted names, such as `loss.lambda`; of metrics only numbers are compared.",
    response_model=ModelComparison,
    responses=responses(ModelNotFound, *LARGE_ANSWER_ERRORS),
)
@needs(Scope.READ)
async def compare(
    context: Context,
    answer: Answer,
    ids: Annotated[
        str,
        AfterValidator(_references),
        Query(
            description="two or more references to models, separated by commas: ids, names, `name:version`, `@alias`",
            examples=["credit-risk:1,credit-risk:2"],
        ),
    ],
) -> Response:
    references = ids.split(",")

    def compared() -> ModelComparison:
        with reading(context.sessions) as session:
            return ModelComparison.model_validate(compare_models(session, context.artifact_store, references))

    counts = [_stored_bytes(context, reference) for reference in references]
    return await answer.of(lambda: sum(count_bytes() for count_bytes in counts), compared)


@router.get(
    "/{reference}",
    summary="Get a trained model",
    response_model=TrainedModelOut,
    responses=responses(ModelNotFound, *LARGE_ANSWER_ERRORS),
)
@needs(Scope.READ)
async def get_model(reference: ModelReference, context: Context, answer: Answer) -> Response:
    return await answer.of(_stored_bytes(context, reference), lambda: _model(context, reference))


@router.patch(
    "/{reference}",
    summary="Describe or tag a trained model",
    description="What the body does not name stays as it is; a description of null removes it.",
    response_model=TrainedModelOut,
    responses=responses(*JSON_ERRORS, ModelNotFound),
    openapi_extra=json_request_body(ModelChanges, {}),
)
@needs(Scope.TRAIN)
async def change_model(
    reference: ModelReference,
    changes: Annotated[ModelChanges, json_body(ModelChanges, own_limits=[("description",)])],
    context: Context,
    answer: Answer,
) -> Response:
    def changed() -> TrainedModelOut:
        # Only now, because a request that finds no memory must change nothing.
        model_id = service.change_model(context.sessions, context.artifact_store, reference, changes.values())
        return _model(context, str(model_id))

    return await answer.of(_stored_bytes(context, reference), changed)


def _stored_bytes(context: ModelResources, reference: str) -> Callable[[], int]:
    def count_bytes() -> int:
        with reading(context.sessions) as session:
            return TrainedModelService(session, context.artifact_store).stored_bytes(reference)

    return count_bytes


def _model(context: ModelResources, reference: str) -> TrainedModelOut:
    with reading(context.sessions) as session:
        models = TrainedModelService(session, context.artifact_store)
        model = models.resolve(reference)
        return TrainedModelOut.from_record(model, models.pointers([model.id]), models.parent(model))


@router.delete(
    "/{reference}",
    status_code=204,
    summary="Delete one version of a trained model",
    description="A model that an alias or a default version points to, or that an unfinished job needs, is not "
    "deleted. A name without a version means the same version as in all other routes.",
    responses=responses(ModelNotFound, ModelInUse, StorageFull),
)
@needs(Scope.ADMIN)
def delete_model(reference: ModelReference, context: Context) -> None:
    service.delete_model(context.sessions, context.artifact_store, reference)


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
@needs(Scope.READ)
def download_artifact(reference: ModelReference, context: Context, request: Request) -> Response:
    with reading(context.sessions) as session:
        model = TrainedModelService(session, context.artifact_store).identify(reference)
    etag = f'"{model.artifact_sha256}"'
    if names_tag(request.headers.get("if-none-match"), etag):
        return not_modified(etag)
    return FileResponse(
        context.artifact_store.path(model.artifact_sha256),
        media_type=ARTIFACT_MEDIA_TYPE,
        filename=f"{model.name}-{model.version}{ArtifactStore.suffix}",
        headers={"ETag": etag},
    )
