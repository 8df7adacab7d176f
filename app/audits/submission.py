"""Turns a request for an audit into a job, after everything that can be known to fail has been refused."""

from collections.abc import Iterator

from pydantic import BaseModel

import core
from app.audits.errors import InvalidAuditRequest
from app.datasets.records import DatasetRecord
from app.datasets.service import DatasetService
from app.errors import FieldError
from app.jobs.records import JobRecord
from app.jobs.service import JobService
from app.jobs.states import JobKind
from app.jobs.submission import NewJob
from app.requests.compatibility import FEWEST_ROWS_OF_CLASS, empty_folds, too_many_votes, unfit_model
from app.requests.estimator_specs import kind_of
from app.requests.job_specs import AuditSpec
from app.settings import Limits
from core.service_api import CLASS_WEIGHT_NOT_SUPPORTED, too_few_to_judge


def submit(
    spec: AuditSpec, idempotency_key: str | None, datasets: DatasetService, jobs: JobService, limits: Limits
) -> JobRecord:
    """Queue an audit, or give back the one that this key has made already.

    Raises DatasetNotFound, InvalidAuditRequest, TooManyQueuedJobs, IdempotencyKeyReused.
    """
    request = spec.stored()
    repeated = jobs.repeated(idempotency_key, request)
    if repeated is not None:
        return repeated
    dataset = datasets.named_at("/dataset_id", spec.dataset_id)
    problems = [*_unfit_size(dataset), *_unfit_judge(spec.model, dataset, limits)]
    if spec.folds is not None:
        problems += empty_folds(spec.folds, dataset, "/folds")
    if problems:
        raise InvalidAuditRequest.about(problems)
    return jobs.queue(NewJob(JobKind.AUDIT, request, [dataset.id]), idempotency_key).job


def _unfit_judge(model: BaseModel, dataset: DatasetRecord, limits: Limits) -> Iterator[FieldError]:
    if getattr(model, "class_weight", None) is not None:
        yield FieldError("/model/class_weight", CLASS_WEIGHT_NOT_SUPPORTED)
        model = model.model_copy(update={"class_weight": None})
    yield from unfit_model(model, dataset, limits)
    kind = kind_of(model)
    fewest = core.ESTIMATORS[kind].min_classes
    n_lasting = sum(entry["count"] >= FEWEST_ROWS_OF_CLASS for entry in dataset.classes)
    if fewest > 1 and n_lasting < fewest:
        detail = (
            f"{kind!r} judges by folds, and classes of {FEWEST_ROWS_OF_CLASS} rows, which are in every training part: "
            f"{n_lasting}; it needs at least {fewest}. Upload more rows, or leave out the model for a forest"
        )
        yield FieldError("/model/kind", detail)


def _unfit_size(dataset: DatasetRecord) -> Iterator[FieldError]:
    if reason := too_few_to_judge(dataset.n_rows, len(dataset.classes)):
        yield FieldError("/dataset_id", f"{reason}: upload more rows")
    if reason := too_many_votes(dataset):
        yield FieldError("/dataset_id", reason)
