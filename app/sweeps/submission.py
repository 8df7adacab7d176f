"""Turns a request for a sweep into jobs, after everything that can be known to fail has been refused."""

from collections.abc import Iterator, Sequence

from pydantic import BaseModel
from sqlalchemy.orm import Session

from app.datasets.service import DatasetService
from app.datasets.tables import DatasetRow
from app.errors import FieldError
from app.jobs.errors import InvalidNoise, InvalidTrainingRequest
from app.jobs.service import JobService
from app.jobs.specs import MAX_CELLS, SweepSpec
from app.jobs.states import JobKind
from app.jobs.tables import JobRow
from app.settings import Limits
from app.sweeps.errors import InvalidSweep
from app.sweeps.repository import SweepRepository
from app.sweeps.tables import SweepCellRow
from app.training.fitness import too_few_to_hold_out, unfit_model
from app.training.noise_rules import refuse_unfit_injection


def submit(
    spec: SweepSpec,
    idempotency_key: str | None,
    session: Session,
    datasets: DatasetService,
    jobs: JobService,
    limits: Limits,
) -> JobRow:
    """Queue a sweep with all of its cells, or give back the one that this key has made already.

    Raises:
        DatasetNotFound, InvalidSweep, InvalidNoise, InvalidTrainingRequest, TooManyQueuedJobs, IdempotencyKeyReused.
    """
    request = spec.stored()
    repeated = jobs.repeated(idempotency_key, request)
    if repeated is not None:
        return repeated
    dataset = datasets.named_at("/dataset_id", spec.dataset_id)
    _refuse_unfit(spec, dataset, limits)
    cells = [cell.stored() for cell in spec.cells()]
    family = jobs.submit_family(JobKind.SWEEP, request, JobKind.SWEEP_CELL, cells, [dataset.id], idempotency_key)
    SweepRepository(session).add(
        SweepCellRow(job_id=part.id, position=position) for position, part in enumerate(family.parts)
    )
    return family.job


def _refuse_unfit(spec: SweepSpec, dataset: DatasetRow, limits: Limits) -> None:
    """A cell joins a model and a noise, neither of which asks anything of the other; so each is judged by itself."""
    for kind, found in (
        (InvalidSweep, _unfit_grid(spec)),
        (InvalidNoise, _unfit_noise(spec, dataset)),
        (InvalidTrainingRequest, _unfit_fits(spec, dataset, limits)),
    ):
        if problems := list(found):
            raise kind("; ".join(problem.detail for problem in problems), problems)


def _unfit_grid(spec: SweepSpec) -> Iterator[FieldError]:
    n_models, n_noises = len(spec.models), len(spec.noise)
    if n_models * n_noises > MAX_CELLS:
        detail = f"{n_models} models under {n_noises} noises are more than {MAX_CELLS} cells; ask for several sweeps"
        yield FieldError("/models", detail)
        return
    yield from _repeated(spec.models, "/models")
    yield from _repeated(spec.noise, "/noise")


def _repeated(entries: Sequence[BaseModel], place: str) -> Iterator[FieldError]:
    given = [entry.model_dump() for entry in entries]
    for number, entry in enumerate(given):
        same = given.index(entry)  # equal numbers are equal however they are written, 1 and 1.0
        if same != number:
            detail = f"{place}/{number} is the same as {place}/{same} once defaults are filled in; leave one out"
            yield FieldError(f"{place}/{number}", detail)


def _unfit_noise(spec: SweepSpec, dataset: DatasetRow) -> Iterator[FieldError]:
    for number, noise in enumerate(spec.noise):
        try:
            refuse_unfit_injection(noise, dataset, f"/noise/{number}")
        except InvalidNoise as error:
            yield from error.errors


def _unfit_fits(spec: SweepSpec, dataset: DatasetRow, limits: Limits) -> Iterator[FieldError]:
    for number, model in enumerate(spec.models):
        yield from unfit_model(model, dataset, limits, f"/models/{number}")
    if reason := too_few_to_hold_out(dataset):
        yield FieldError("/test_fraction", f"{reason}; upload more rows")
