"""Turns a request for an audit into a job, after everything that can be known to fail has been refused."""

from collections.abc import Iterator

from app.audits.errors import InvalidAuditRequest
from app.audits.schemas import AuditRequest
from app.datasets.service import DatasetService
from app.datasets.tables import DatasetRow
from app.errors import FieldError
from app.jobs.service import JobService
from app.jobs.specs import AuditSpec
from app.jobs.states import JobKind
from app.jobs.tables import JobRow
from app.settings import Limits
from app.training.fitness import too_many_votes, unfit_model
from core.label_judges import too_few_to_judge


def submit(
    request: AuditRequest, idempotency_key: str | None, datasets: DatasetService, jobs: JobService, limits: Limits
) -> JobRow:
    """Queue an audit, or give back the one that this key has made already.

    Raises DatasetNotFound, InvalidAuditRequest, TooManyQueuedJobs, IdempotencyKeyReused.
    """
    asked = request.model_dump(mode="json")
    repeated = jobs.repeated(idempotency_key, asked)
    if repeated is not None:
        return repeated
    dataset = datasets.named_at("/dataset_id", request.dataset_id)
    spec = AuditSpec(dataset_id=dataset.id, model=request.model, folds=request.folds, seed=request.seed)
    problems = [*_unfit_size(dataset), *unfit_model(spec.model, dataset, limits), *_unfit_folds(spec, dataset)]
    if problems:
        raise InvalidAuditRequest("; ".join(problem.detail for problem in problems), problems)
    return jobs.submit(JobKind.AUDIT, spec.stored(), [dataset.id], idempotency_key, asked)


def _unfit_folds(spec: AuditSpec, dataset: DatasetRow) -> Iterator[FieldError]:
    if spec.folds is not None and spec.folds > dataset.n_rows:
        detail = f"{spec.folds} folds of {dataset.n_rows} rows leave some empty; at most one fold for each row"
        yield FieldError("/folds", detail)


def _unfit_size(dataset: DatasetRow) -> Iterator[FieldError]:
    if reason := too_few_to_judge(dataset.n_rows, len(dataset.classes)):
        yield FieldError("/dataset_id", f"{reason}: upload more rows")
    if reason := too_many_votes(dataset):
        yield FieldError("/dataset_id", reason)
