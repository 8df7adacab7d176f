"""Submission of audits; requests that cannot succeed are refused before a job is queued."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from app.audits.errors import InvalidAuditRequest
from app.audits.specs import AuditSpec
from app.datasets.records import DatasetRecord
from app.datasets.service import dataset_named_at
from app.errors import FieldError
from app.jobs.states import JobKind
from app.jobs.submission import JobSubmission, NewJob, StoreInputs
from app.requests.compatibility import MIN_ROWS_PER_CLASS, fold_count_problems, model_problems, vote_count_problem
from app.requests.estimator_specs import EstimatorSpec
from app.requests.job_memory import audit_memory
from app.settings import Limits
from app.storage.database import SessionFactory
from core.service_api import CLASS_WEIGHT_NOT_SUPPORTED, too_few_to_estimate


class AuditSubmission(JobSubmission):
    """Request for an audit. `prepare` raises DatasetNotFound, InvalidAuditRequest and JobTooLarge."""

    def __init__(self, request: AuditSpec, sessions: SessionFactory, limits: Limits) -> None:
        self._request = request
        self._sessions = sessions
        self._limits = limits

    def body(self) -> dict[str, Any]:
        return self._request.to_json()

    @contextmanager
    def prepare(self) -> Iterator[StoreInputs]:
        dataset = dataset_named_at(self._sessions, "/dataset_id", self._request.dataset_id)
        if problems := list(self._problems(dataset)):
            raise InvalidAuditRequest.about(problems)
        memory = audit_memory(self._request.model, self._request.folds, dataset, self._limits)
        memory.check(self._limits.max_job_bytes, "/model")
        # From now on by its id: its name may stand for another one when a worker reads it.
        spec = self._request.model_copy(update={"dataset_id": dataset.id})
        new = NewJob(JobKind.AUDIT, spec.to_json(), [dataset.id])
        yield lambda session: nullcontext(new)

    def _problems(self, dataset: DatasetRecord) -> Iterator[FieldError]:
        yield from _size_problems(dataset)
        yield from _model_problems(self._request.model, dataset, self._limits)
        if self._request.folds is not None:
            yield from fold_count_problems(self._request.folds, dataset, "/folds")


def _model_problems(model: EstimatorSpec, dataset: DatasetRecord, limits: Limits) -> Iterator[FieldError]:
    if getattr(model, "class_weight", None) is not None:
        yield FieldError("/model/class_weight", f"class_weight is given; {CLASS_WEIGHT_NOT_SUPPORTED}")
        model = model.model_copy(update={"class_weight": None})
    yield from model_problems(model, dataset, limits)
    min_classes = model.estimator_class.min_classes
    n_usable = sum(entry["count"] >= MIN_ROWS_PER_CLASS for entry in dataset.classes)
    if min_classes > 1 and n_usable < min_classes:
        detail = (
            f"{n_usable} classes have at least {MIN_ROWS_PER_CLASS} rows, so that they occur in every training part; "
            f"an audit with {model.kind!r} uses folds and needs at least {min_classes} such classes. Upload more rows, "
            "or remove model from the request, so that the audit uses a forest"
        )
        yield FieldError("/model/kind", detail)


def _size_problems(dataset: DatasetRecord) -> Iterator[FieldError]:
    if reason := too_few_to_estimate(dataset.n_labeled, len(dataset.classes)):
        yield FieldError("/dataset_id", f"{reason}: upload more rows")
    if reason := vote_count_problem(dataset):
        yield FieldError("/dataset_id", reason)
