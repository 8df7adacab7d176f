"""Submission of sweeps; requests that cannot succeed are refused before a job is queued."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from sqlalchemy.orm import Session

from app.datasets.records import DatasetRecord
from app.datasets.service import dataset_named_at
from app.errors import FieldError
from app.jobs.records import JobRecord
from app.jobs.states import JobKind
from app.jobs.submission import JobSubmission, NewChild, NewJob, StoreInputs
from app.requests.compatibility import holdout_problems, model_problems
from app.requests.errors import InvalidNoiseRequest, InvalidTrainingRequest
from app.requests.job_memory import cell_memory
from app.requests.noise_compatibility import check_injection
from app.settings import Limits
from app.storage.database import SessionFactory
from app.sweeps.errors import InvalidSweep
from app.sweeps.grid import grid_problems
from app.sweeps.repository import SweepRepository
from app.sweeps.specs import SweepSpec
from app.sweeps.tables import SweepCellRow


class SweepSubmission(JobSubmission):
    """Request for a sweep, whose cells are child jobs.

    `prepare` raises DatasetNotFound, InvalidSweep, InvalidNoiseRequest, InvalidTrainingRequest and JobTooLarge.
    """

    def __init__(self, request: SweepSpec, sessions: SessionFactory, limits: Limits) -> None:
        self._request = request
        self._sessions = sessions
        self._limits = limits

    def body(self) -> dict[str, Any]:
        return self._request.to_json()

    @contextmanager
    def prepare(self) -> Iterator[StoreInputs]:
        dataset = dataset_named_at(self._sessions, "/dataset_id", self._request.dataset_id)
        self._check(dataset)
        # From now on by its id: its name may stand for another one when a worker reads it.
        spec = self._request.model_copy(update={"dataset_id": dataset.id})
        cells = [NewChild(JobKind.SWEEP_CELL, cell.to_json()) for cell in spec.cells()]
        new = NewJob(JobKind.SWEEP, spec.to_json(), [dataset.id], cells)
        yield lambda session: nullcontext(new)

    def store_children(self, session: Session, children: Sequence[JobRecord]) -> None:
        cells = (SweepCellRow(job_id=child.id, position=position) for position, child in enumerate(children))
        SweepRepository(session).add(cells)

    def _check(self, dataset: DatasetRecord) -> None:
        """Check models and noise separately: a cell combines one of each, and neither restricts the other."""
        for error, problems in (
            (InvalidSweep, grid_problems(self._request, self._limits)),
            (InvalidNoiseRequest, self._noise_problems(dataset)),
            (InvalidTrainingRequest, self._fit_problems(dataset)),
        ):
            if listed := list(problems):
                raise error.about(listed)
        for number, model in enumerate(self._request.models):
            for noise in self._request.noise:
                memory = cell_memory(model, noise, self._request.test_fraction, dataset, self._limits)
                memory.check(self._limits.max_job_bytes, f"/models/{number}")

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
