"""/datasets: upload, list, read and delete data sets."""

import sys
import uuid
from functools import cache
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy.orm import Session

from app.access.scopes import Scope, needs
from app.datasets import service
from app.datasets.column_profiles import PROFILED_BYTES, QUANTILES, ColumnSelection
from app.datasets.dependencies import Context, DatasetId, DatasetResources
from app.datasets.errors import UPLOAD_ERRORS, DatasetInUse, DatasetNotFound, UnknownColumn, UnknownRow, repoint
from app.datasets.formats import stem
from app.datasets.receiving import ReceivedUpload, in_own_thread, is_form, receive
from app.datasets.registration import StoredDataset
from app.datasets.remote_reader import refuse_when_full
from app.datasets.row_parameters import RowLimit, RowNumbers, RowOffset, row_selection
from app.datasets.schemas import (
    ClassCount,
    ColumnProfile,
    Dataset,
    DatasetChanges,
    DatasetItem,
    DatasetProfile,
    DatasetRows,
)
from app.datasets.service import DatasetService, delete_dataset, profile, read_rows, store_upload
from app.datasets.upload_fields import UploadFields, upload_query_parameters, upload_request_body
from app.errors import Invalid, ServiceError, StorageFull
from app.http.error_handlers import responses
from app.http.json_body import JSON_ERRORS, json_body, json_request_body
from app.http.large_answers import LARGE_ANSWER_ERRORS, Answer
from app.http.pagination import FilterText, NameContains, Page, PageParameters
from app.http.query_names import own_query
from app.settings import Limits
from app.storage.database import reading
from app.storage.pages import InvalidCursor, UnknownSort

MAX_PROFILES, _DEFAULT_PROFILES = 200, 100


router = APIRouter(prefix="/datasets", tags=["data sets"])


@cache
def upload_router(limits: Limits) -> APIRouter:
    """Return the route of uploads, whose documentation names the limits; analyzing it takes long."""
    uploads = APIRouter(tags=["data sets"])
    uploads.add_api_route(
        "/datasets",
        upload_dataset,
        methods=["POST"],
        status_code=201,
        summary="Upload a table",
        description=_upload_description(limits),
        response_model=Dataset,
        dependencies=[own_query(_query_names, finds_repeated=True)],
        responses={
            200: {"model": Dataset, "description": "The same content, roles, types and reading exist as a data set"},
            **responses(*UPLOAD_ERRORS, *LARGE_ANSWER_ERRORS),
        },
        openapi_extra={"requestBody": upload_request_body(), "parameters": upload_query_parameters()},
        # The size is counted while the body is received, so that the answer can name the limit.
        max_body_size=sys.maxsize,
    )
    return uploads


def _upload_description(limits: Limits) -> str:
    return (
        "The file is CSV or TSV with a header line, NDJSON, a JSON array of objects, an Excel workbook (.xlsx), "
        "Parquet, or Arrow IPC; it can be compressed with gzip or zstd. "
        "Send it as a multipart form, or as the raw body with its own `Content-Type` and the other fields in the "
        "query. The answer is 201, or 200 with the existing data set if there is one with the same content, roles, "
        f"types and reading. Limits: {limits.max_upload_bytes:,} bytes after decompression, {limits.max_rows:,} rows, "
        f"{limits.max_columns:,} columns, {limits.max_categories:,} categories per column and "
        f"{limits.max_classes:,} classes."
    )


@needs(Scope.TRAIN)
async def upload_dataset(request: Request, context: Context, answer: Answer) -> Response:
    limits, space = context.settings.limits, context.dataset_store.space
    try:
        refuse_when_full(limits)
        space.require(int(request.headers.get("content-length") or 0))
        with context.dataset_store.staged() as path:
            upload = await receive(request, path, limits.max_upload_bytes, space)
            fields = UploadFields.from_fields(upload.fields, upload.fields_in)
            stored = await in_own_thread(_store, context, upload, fields)
    except ServiceError as error:
        context.instruments.upload("refused")
        if not is_form(request):
            repoint(error, _query_pointer)
        raise
    dataset_id = stored.dataset.id
    return await answer.of(
        lambda: _stored_bytes(context, dataset_id),
        lambda: Dataset.model_validate(stored.under_name(fields.name)),
        201 if stored.created else 200,
        {"Location": f"/datasets/{dataset_id}"},
    )


def _store(context: DatasetResources, upload: ReceivedUpload, fields: UploadFields) -> StoredDataset:
    options = fields.options(stem(upload.file_name)[:200].replace("\0", "") or "dataset")
    sessions, store, limits = context.sessions, context.dataset_store, context.settings.limits
    stored = store_upload(sessions, store, limits, upload.file, upload.declared, options)
    context.instruments.upload("created" if stored.created else "known", stored.dataset.n_bytes)
    return stored


def _query_names(request: Request) -> frozenset[str]:
    """Return the fields that the query of an upload can have: all of them if the body is the file itself."""
    return frozenset() if is_form(request) else frozenset(UploadFields.model_fields)


def _query_pointer(pointer: str) -> str:
    """Return the pointer for an upload whose body is the file itself, with all other fields in the query."""
    if pointer.startswith("/"):
        return "/" if pointer == "/file" else f"query{pointer}"
    return pointer


@router.get("", summary="List data sets", responses=responses(InvalidCursor, UnknownSort))
@needs(Scope.READ)
def list_datasets(
    context: Context,
    page: PageParameters,
    name: Annotated[FilterText | None, Query(description="return only data sets with this name")] = None,
    sha256: Annotated[FilterText | None, Query(description="return only data sets with this content")] = None,
    target: Annotated[FilterText | None, Query(description="return only data sets with this label column")] = None,
    name_contains: NameContains = None,
) -> Page[DatasetItem]:
    fields = {"name": name, "sha256": sha256, "target": target}
    filters = {field: value for field, value in fields.items() if value is not None}
    with reading(context.sessions) as session:
        listed = _service(session, context).page(page, filters, name_contains)
    return Page.of(listed, DatasetItem.from_record)


@router.get(
    "/{dataset_id}",
    summary="Get a data set",
    response_model=Dataset,
    responses=responses(DatasetNotFound, *LARGE_ANSWER_ERRORS),
)
@needs(Scope.READ)
async def get_dataset(dataset_id: DatasetId, context: Context, answer: Answer) -> Response:
    return await answer.of(lambda: _stored_bytes(context, dataset_id), lambda: _dataset(context, dataset_id))


@router.get(
    "/{dataset_id}/rows",
    summary="Get rows of a data set as they were uploaded",
    response_model=DatasetRows,
    responses=responses(DatasetNotFound, UnknownRow, *LARGE_ANSWER_ERRORS),
)
@needs(Scope.READ)
async def get_rows(
    dataset_id: DatasetId,
    context: Context,
    answer: Answer,
    offset: RowOffset = None,
    limit: RowLimit = None,
    rows: RowNumbers = None,
) -> Response:
    selection = row_selection(offset, limit, rows)

    def count_bytes() -> int:
        with reading(context.sessions) as session:
            return _service(session, context).shown_bytes(dataset_id, selection.max_rows)

    def shown() -> DatasetRows:
        found = read_rows(context.sessions, context.dataset_store, dataset_id, selection)
        return DatasetRows(columns=found.columns, rows=found.rows, row_numbers=found.row_numbers)

    return await answer.of(count_bytes, shown)


@router.get(
    "/{dataset_id}/profile",
    summary="Get the distribution of columns, also by class",
    response_model=DatasetProfile,
    responses=responses(DatasetNotFound, UnknownColumn, *LARGE_ANSWER_ERRORS),
)
@needs(Scope.READ)
async def get_profile(
    dataset_id: DatasetId,
    context: Context,
    answer: Answer,
    column: Annotated[
        list[str] | None,
        Query(max_length=MAX_PROFILES, description="feature to return; repeatable; in place of `offset` and `limit`"),
    ] = None,
    offset: Annotated[int | None, Query(ge=0, le=2**62, description="first feature to return; default: 0")] = None,
    limit: Annotated[
        int | None, Query(ge=1, le=MAX_PROFILES, description="most features to return; default: 100")
    ] = None,
) -> Response:
    if column and (offset is not None or limit is not None):
        detail = "column is given together with offset or limit, which it replaces; send either columns or the others"
        raise Invalid.at("query/column", detail)
    selection = ColumnSelection(column or [], offset or 0, _DEFAULT_PROFILES if limit is None else limit)
    return await answer.of(
        lambda: _stored_bytes(context, dataset_id) + PROFILED_BYTES, lambda: _profile(context, dataset_id, selection)
    )


def _profile(context: DatasetResources, dataset_id: uuid.UUID, selection: ColumnSelection) -> DatasetProfile:
    dataset, found = profile(context.sessions, context.dataset_store, dataset_id, selection)
    return DatasetProfile(
        n_rows=dataset.n_rows,
        n_profiled=found.n_profiled,
        n_columns=len(dataset.features),
        quantiles=list(QUANTILES),
        classes=[ClassCount(**dataset.classes[number]) for number in found.classes],
        columns=[ColumnProfile(**values) for values in found.columns],
    )


@router.patch(
    "/{dataset_id}",
    summary="Rename a data set, describe or tag it",
    response_model=Dataset,
    responses=responses(*JSON_ERRORS, DatasetNotFound),
    openapi_extra=json_request_body(DatasetChanges, {}),
)
@needs(Scope.TRAIN)
async def change_dataset(
    dataset_id: DatasetId,
    changes: Annotated[DatasetChanges, json_body(DatasetChanges, own_limits=[("description",)])],
    context: Context,
    answer: Answer,
) -> Response:
    def changed() -> Dataset:
        # Only now, because a request that finds no memory must change nothing, and SQLite rewrites the whole row.
        service.change_dataset(context.sessions, context.dataset_store, dataset_id, changes.values())
        return _dataset(context, dataset_id)

    return await answer.of(lambda: _stored_bytes(context, dataset_id), changed)


@router.delete(
    "/{dataset_id}",
    status_code=204,
    summary="Delete a data set that no job and no model uses",
    responses=responses(DatasetNotFound, DatasetInUse, StorageFull),
)
@needs(Scope.ADMIN)
def remove_dataset(dataset_id: DatasetId, context: Context) -> None:
    delete_dataset(context.sessions, context.dataset_store, dataset_id)


def _stored_bytes(context: DatasetResources, dataset_id: uuid.UUID) -> int:
    with reading(context.sessions) as session:
        return _service(session, context).stored_bytes(dataset_id)


def _dataset(context: DatasetResources, dataset_id: uuid.UUID) -> Dataset:
    with reading(context.sessions) as session:
        return Dataset.model_validate(_service(session, context).get(dataset_id))


def _service(session: Session, context: DatasetResources) -> DatasetService:
    return DatasetService(session, context.dataset_store)
