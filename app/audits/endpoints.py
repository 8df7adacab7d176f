"""POST /audits, GET /audits/{id}, and its judged rows as pages or as one CSV file."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Query
from fastapi.responses import StreamingResponse
from sqlalchemy.orm import Session

from app.audits.csv_rows import as_csv
from app.audits.dependencies import AuditResources, Context
from app.audits.errors import AuditNotFinished, AuditNotFound, InvalidAuditRequest, IssuesMissing
from app.audits.schemas import EXAMPLES, AuditOut, JudgedRow
from app.audits.service import AuditService
from app.audits.submission import submit
from app.datasets.errors import DatasetNotFound
from app.datasets.service import DatasetService
from app.errors import InvalidJson, UnsupportedMediaType
from app.http.error_handlers import responses
from app.http.pagination import Page, SliceParameters, refuse_unknown_names
from app.jobs.accepted import Accepted, IdempotencyKey
from app.jobs.errors import IdempotencyKeyReused, TooManyQueuedJobs
from app.jobs.schemas import JobOut
from app.jobs.service import JobService
from app.requests.job_specs import AuditSpec
from app.storage.database import reading, writing
from app.storage.pages import InvalidCursor

router = APIRouter(prefix="/audits", tags=["audits"])

Flagged = Annotated[
    bool | None, Query(description="true: only the labels that are probably wrong; false: only the others")
]
UNREADABLE = (AuditNotFound, AuditNotFinished, IssuesMissing)


@router.post(
    "",
    status_code=202,
    summary="Look for wrong labels in the background",
    description="Answers at once with a job, whose id is the audit's; follow it at `Location`.",
    responses=responses(
        InvalidJson, UnsupportedMediaType, DatasetNotFound, InvalidAuditRequest, IdempotencyKeyReused, TooManyQueuedJobs
    ),
)
def audit(
    body: Annotated[AuditSpec, Body(openapi_examples=EXAMPLES)],
    context: Context,
    accepted: Accepted,
    idempotency_key: IdempotencyKey = None,
) -> JobOut:
    limits = context.settings.limits
    with writing(context.sessions) as session:
        datasets = DatasetService(session, context.dataset_store, limits)
        job = submit(body, idempotency_key, datasets, JobService(session, limits), limits)
    return accepted.of(job)


@router.get(
    "/{audit_id}",
    summary="What an audit found: how many labels are wrong, and how classes are confused",
    responses=responses(AuditNotFound, AuditNotFinished),
)
def get_audit(audit_id: uuid.UUID, context: Context) -> AuditOut:
    with reading(context.sessions) as session:
        return AuditOut.of(_service(context, session).get(audit_id))


@router.get(
    "/{audit_id}/issues",
    summary="All rows, the labels most probably wrong first",
    responses=responses(*UNREADABLE, InvalidCursor),
)
def list_issues(
    audit_id: uuid.UUID, context: Context, page: SliceParameters, flagged: Flagged = None
) -> Page[JudgedRow]:
    with reading(context.sessions) as session:
        audits = _service(context, session)
        found = audits.get(audit_id)
        rows, next_cursor = audits.page(found, page, flagged)
    return Page(items=JudgedRow.each_of(rows, found.row.classes), next_cursor=next_cursor)


@router.get(
    "/{audit_id}/issues.csv",
    summary="The same rows as one file",
    dependencies=[Depends(refuse_unknown_names)],
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}},
        **responses(*UNREADABLE),
    },
)
def download_issues(audit_id: uuid.UUID, context: Context, flagged: Flagged = None) -> StreamingResponse:
    with reading(context.sessions) as session:
        audits = _service(context, session)
        found = audits.get(audit_id)
        batches = audits.batches(found, flagged)
    headers = {"Content-Disposition": f'attachment; filename="issues-{audit_id}.csv"'}
    return StreamingResponse(as_csv(batches, found.row.classes), media_type="text/csv", headers=headers)


def _service(context: AuditResources, session: Session) -> AuditService:
    return AuditService(session, context.issue_store, JobService(session, context.settings.limits))
