"""Routes of audits: POST and GET /audits, GET and DELETE /audits/{id}, the audited rows as pages or as a CSV file."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from sqlalchemy.orm import Session

from app.access.scopes import Scope, needs
from app.audits import service
from app.audits.csv_rows import as_csv
from app.audits.dependencies import AuditResources, Context
from app.audits.errors import AuditNotFinished, AuditNotFound, InvalidAuditRequest, IssuesMissing
from app.audits.schemas import EXAMPLES, AuditItem, AuditOut, JudgedRow
from app.audits.service import AuditService
from app.audits.specs import AuditSpec
from app.audits.submission import AuditSubmission
from app.datasets.dependencies import DatasetFilter
from app.datasets.errors import DatasetNotFound
from app.errors import StorageFull
from app.http.error_handlers import responses
from app.http.json_body import JSON_ERRORS, json_body, json_request_body
from app.http.large_answers import LARGE_ANSWER_ERRORS, Answer
from app.http.pagination import Page, PageParameters, SliceParameters
from app.jobs.accepted import ACCEPTANCE_ERRORS, Accepted
from app.jobs.errors import JobNotFinished
from app.jobs.filters import JobFilter
from app.jobs.schemas import JobOut
from app.jobs.service import JobService
from app.jobs.states import JobKind, JobState
from app.requests.errors import JobTooLarge
from app.storage.database import reading
from app.storage.pages import InvalidCursor, UnknownSort

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
    responses=responses(*JSON_ERRORS, DatasetNotFound, InvalidAuditRequest, JobTooLarge, *ACCEPTANCE_ERRORS),
    response_model=JobOut,
    openapi_extra=json_request_body(AuditSpec, EXAMPLES),
)
@needs(Scope.TRAIN)
async def audit(body: Annotated[AuditSpec, json_body(AuditSpec)], context: Context, accepted: Accepted) -> Response:
    return await accepted.of(AuditSubmission(body, context.sessions, context.settings.limits))


@router.get(
    "",
    summary="List audits, newest first",
    description="Queued, running and failed ones too; the figures are null until an audit has succeeded.",
    responses=responses(InvalidCursor, UnknownSort, DatasetNotFound),
)
@needs(Scope.READ)
def list_audits(
    context: Context,
    page: PageParameters,
    dataset_id: DatasetFilter,
    state: Annotated[JobState | None, Query()] = None,
) -> Page[AuditItem]:
    with reading(context.sessions) as session:
        filters = JobFilter(JobKind.AUDIT, state, dataset_id)
        listed = JobService(session, context.settings.limits).page(page, filters)
        figures = _service(context, session).summaries([job.id for job in listed.items])
    return Page.of(listed, lambda job: AuditItem.from_head(job, **vars(figures[job.id]) if job.id in figures else {}))


@router.get(
    "/{audit_id}",
    summary="Get an audit: the estimated noise rate and transition matrix",
    response_model=AuditOut,
    responses=responses(AuditNotFound, AuditNotFinished, *LARGE_ANSWER_ERRORS),
)
@needs(Scope.READ)
async def get_audit(audit_id: uuid.UUID, context: Context, answer: Answer) -> Response:
    def count_bytes() -> int:
        with reading(context.sessions) as session:
            return _service(context, session).stored_bytes(audit_id)

    def audit() -> AuditOut:
        with reading(context.sessions) as session:
            return AuditOut.from_audit(_service(context, session).get(audit_id))

    return await answer.of(count_bytes, audit)


@router.delete(
    "/{audit_id}",
    status_code=204,
    summary="Delete an audit that has ended",
    responses=responses(AuditNotFound, JobNotFinished, StorageFull),
)
@needs(Scope.ADMIN)
def delete_audit(audit_id: uuid.UUID, context: Context) -> None:
    service.delete_audit(context.sessions, context.issue_store, audit_id)


@router.get(
    "/{audit_id}/issues",
    summary="List the rows, the most likely wrong labels first",
    responses=responses(*UNREADABLE, InvalidCursor),
)
@needs(Scope.READ)
def list_issues(
    audit_id: uuid.UUID, context: Context, page: SliceParameters, flagged: Flagged = None
) -> Page[JudgedRow]:
    with reading(context.sessions) as session:
        audits = _service(context, session)
        audit = audits.get(audit_id)
        rows, next_cursor = audits.page(audit, page, flagged)
        total = audits.count(audit, flagged)
    items = JudgedRow.from_rows(rows, audit.row.classes)
    return Page(items=items, next_cursor=next_cursor, total=total)


@router.get(
    "/{audit_id}/issues.csv",
    summary="Download the rows as a CSV file",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}},
        **responses(*UNREADABLE),
    },
)
@needs(Scope.READ)
def download_issues(audit_id: uuid.UUID, context: Context, flagged: Flagged = None) -> StreamingResponse:
    with reading(context.sessions) as session:
        audits = _service(context, session)
        audit = audits.get(audit_id)
        batches = audits.batches(audit, flagged)
    headers = {"Content-Disposition": f'attachment; filename="issues-{audit_id}.csv"'}
    return StreamingResponse(as_csv(batches, audit.row.classes), media_type="text/csv", headers=headers)


def _service(context: AuditResources, session: Session) -> AuditService:
    return AuditService(session, context.issue_store, JobService(session, context.settings.limits))
