"""Routes of audits: POST /audits, GET /audits/{id}, and the judged rows as pages or as a CSV file."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Body, Query
from fastapi.responses import StreamingResponse
from sqlalchemy.orm import Session

from app.audits.csv_rows import as_csv
from app.audits.dependencies import AuditResources, Context
from app.audits.errors import AuditNotFinished, AuditNotFound, InvalidAuditRequest, IssuesMissing
from app.audits.schemas import EXAMPLES, AuditOut, JudgedRow
from app.audits.service import AuditService
from app.audits.specs import AuditSpec
from app.audits.submission import AuditSubmission
from app.datasets.errors import DatasetNotFound
from app.datasets.service import DatasetService
from app.errors import InvalidJson, UnsupportedMediaType
from app.http.error_handlers import responses
from app.http.pagination import Page, SliceParameters
from app.jobs.accepted import Accepted, IdempotencyKey
from app.jobs.errors import IdempotencyKeyReused, TooManyQueuedJobs
from app.jobs.schemas import JobOut
from app.jobs.service import JobService
from app.storage.database import reading, writing
from app.storage.pages import InvalidCursor

router = APIRouter(prefix="/audits", tags=["audits"])

Flagged = Annotated[
    bool | None, Query(description="`true` selects the rows whose label is probably wrong, `false` all others.")
]
UNREADABLE = (AuditNotFound, AuditNotFinished, IssuesMissing)


@router.post(
    "",
    status_code=202,
    summary="Audit the labels of a data set",
    description="Queues a job and returns it; its id is the id of the audit, and `Location` is where to follow it.",
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
        submission = AuditSubmission(body, datasets, limits)
        job = JobService(session, limits).submit(submission, idempotency_key)
    return accepted.answer(job)


@router.get(
    "/{audit_id}",
    summary="Get an audit: the estimated noise rate and transition matrix",
    responses=responses(AuditNotFound, AuditNotFinished),
)
def get_audit(audit_id: uuid.UUID, context: Context) -> AuditOut:
    with reading(context.sessions) as session:
        return AuditOut.from_audit(_service(context, session).get(audit_id))


@router.get(
    "/{audit_id}/issues",
    summary="List the rows, the most likely wrong labels first",
    responses=responses(*UNREADABLE, InvalidCursor),
)
def list_issues(
    audit_id: uuid.UUID, context: Context, page: SliceParameters, flagged: Flagged = None
) -> Page[JudgedRow]:
    with reading(context.sessions) as session:
        audits = _service(context, session)
        audit = audits.get(audit_id)
        rows, next_cursor = audits.page(audit, page, flagged)
    return Page(items=JudgedRow.from_rows(rows, audit.row.classes), next_cursor=next_cursor)


@router.get(
    "/{audit_id}/issues.csv",
    summary="Download the rows as a CSV file",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}},
        **responses(*UNREADABLE),
    },
)
def download_issues(audit_id: uuid.UUID, context: Context, flagged: Flagged = None) -> StreamingResponse:
    with reading(context.sessions) as session:
        audits = _service(context, session)
        audit = audits.get(audit_id)
        batches = audits.batches(audit, flagged)
    headers = {"Content-Disposition": f'attachment; filename="issues-{audit_id}.csv"'}
    return StreamingResponse(as_csv(batches, audit.row.classes), media_type="text/csv", headers=headers)


def _service(context: AuditResources, session: Session) -> AuditService:
    return AuditService(session, context.issue_store, JobService(session, context.settings.limits))
