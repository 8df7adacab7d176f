"""Submission of sweeps; requests that cannot succeed are refused before a job is queued."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from sqlalchemy.orm import Session

from app.datasets.records import DatasetRecord
from app.datasets.service import DatasetService
from app.errors import FieldError
from app.jobs.records import JobRecord
from app.jobs.states import JobKind
from app.jobs.submission import JobSubmission, NewChild, NewJob
from app.requests.compatibility import holdout_problems, model_problems
from app.requests.errors import InvalidNoiseRequest, InvalidTrainingRequest
from app.requests.noise_compatibility import check_injection
from app.settings import Limits
from app.sweeps.errors import InvalidSweep
from app.sweeps.grid import grid_problems
from app.sweeps.repository import SweepRepository
from app.sweeps.specs import SweepSpec
from app.sweeps.tables import SweepCellRow


class SweepSubmission(JobSubmission):
    """Request for a sweep, whose cells are child jobs.

    `prepare` raises DatasetNotFound, InvalidSweep, InvalidNoiseRequest and InvalidTrainingRequest.
    """

    def __init__(self, request: SweepSpec, session: Session, datasets: DatasetService, limits: Limits) -> None:
        self._request = request
        self._cells = SweepRepository(session)
        self._datasets = datasets
        self._limits = limits

    def body(self) -> dict[str, Any]:
        return self._request.to_json()

    def prepare(self) -> AbstractContextManager[NewJob]:
        dataset = self._datasets.named_at("/dataset_id", self._request.dataset_id)
        self._check(dataset)
        cells = [NewChild(JobKind.SWEEP_CELL, cell.to_json()) for cell in self._request.cells()]
        return nullcontext(NewJob(JobKind.SWEEP, self._request.to_json(), [dataset.id], cells))

    def store_children(self, children: Sequence[JobRecord]) -> None:
        self._cells.add(SweepCellRow(job_id=child.id, position=position) for position, child in enumerate(children))

    def _check(self, dataset: DatasetRecord) -> None:
        """Check models and noise separately: a cell combines one of each, and neither restricts the other."""
        for error, problems in (
            (InvalidSweep, grid_problems(self._request, self._limits)),
            (InvalidNoiseRequest, self._noise_problems(dataset)),
            (InvalidTrainingRequest, self._fit_problems(dataset)),
        ):
            if listed := list(problems):
                raise error.about(listed)

    def _noise_problems(self, dataset: DatasetRecord) -> Iterator[FieldError]:
        for number, noise in enumerate(self._request.noise):
            try:
                check_injection(noise, dataset, f"/noise/{number}")
            except InvalidNoiseRequest as error:
                yield from error.errors

    def _fit_problems(self, dataset: DatasetRecord) -> Iterator[FieldError]:
        for number, model in enumerate(self._request.models):
            yield from model_problems(model, dataset, self._limits, f"/models/{number}")
        yield from holdout_problems(self._request.test_fraction, dataset, "")
