"""Turns a request for a sweep into jobs, after everything that can be known to fail has been refused."""

import json
from collections.abc import Iterator, Sequence

from sqlalchemy.orm import Session

from app.datasets.records import DatasetRecord
from app.datasets.service import DatasetService
from app.errors import FieldError
from app.jobs.errors import InvalidNoise, InvalidTrainingRequest
from app.jobs.records import JobRecord
from app.jobs.service import JobService
from app.jobs.states import JobKind
from app.jobs.submission import NewChild, NewJob
from app.requests.compatibility import unfit_holdout, unfit_model
from app.requests.job_specs import MAX_BYTES_OF_CELLS, MAX_CELLS, SweepSpec
from app.requests.noise_compatibility import refuse_unfit_injection
from app.settings import Limits
from app.sweeps.errors import InvalidSweep
from app.sweeps.repository import SweepRepository
from app.sweeps.tables import SweepCellRow


def submit(
    spec: SweepSpec,
    idempotency_key: str | None,
    session: Session,
    datasets: DatasetService,
    jobs: JobService,
    limits: Limits,
) -> JobRecord:
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
    cells = [NewChild(JobKind.SWEEP_CELL, cell.stored()) for cell in spec.cells()]
    queued = jobs.queue(NewJob(JobKind.SWEEP, request, [dataset.id], cells), idempotency_key)
    SweepRepository(session).add(
        SweepCellRow(job_id=child.id, position=position) for position, child in enumerate(queued.children)
    )
    return queued.job


def _refuse_unfit(spec: SweepSpec, dataset: DatasetRecord, limits: Limits) -> None:
    """A cell joins a model and a noise, neither of which asks anything of the other; so each is judged by itself."""
    for kind, found in (
        (InvalidSweep, _unfit_grid(spec, limits)),
        (InvalidNoise, _unfit_noise(spec, dataset)),
        (InvalidTrainingRequest, _unfit_fits(spec, dataset, limits)),
    ):
        if problems := list(found):
            raise kind.about(problems)


def _unfit_grid(spec: SweepSpec, limits: Limits) -> Iterator[FieldError]:
    n_models, n_noises = len(spec.models), len(spec.noise)
    cells = f"{n_models} models under {n_noises} noises are {n_models * n_noises} cells"
    if n_models * n_noises > MAX_CELLS:
        yield FieldError("/models", f"{cells}, and a sweep has at most {MAX_CELLS}; ask for several sweeps")
        return
    if n_models * n_noises > limits.max_queued_jobs:
        most = limits.max_queued_jobs
        detail = f"{cells}, more than may ever wait at once (limit max_queued_jobs: {most}); ask for several sweeps"
        yield FieldError("/models", detail)
    models, noises = ([entry.model_dump_json() for entry in entries] for entries in (spec.models, spec.noise))
    n_bytes = n_noises * sum(map(len, models)) + n_models * sum(map(len, noises))
    if n_bytes > MAX_BYTES_OF_CELLS:
        detail = (
            f"{cells}, whose requests take {n_bytes} bytes, most of them matrices; a sweep has at most "
            f"{MAX_BYTES_OF_CELLS}: ask for several sweeps"
        )
        yield FieldError("/noise", detail)
    yield from _repeated(models, "/models")
    yield from _repeated([_with_one_spelling(noise) for noise in noises], "/noise")


def _with_one_spelling(noise: str) -> str:
    """Noise as JSON with 1.0 written as 1: the same label. Of a model they are two things: `max_features` 1 is one
    feature, and 1.0 all of them.
    """

    def spelled(text: str) -> int | float:
        number = float(text)
        return int(number) if number.is_integer() else number

    return json.dumps(json.loads(noise, parse_float=spelled))


def _repeated(entries: Sequence[str], place: str) -> Iterator[FieldError]:
    first: dict[str, int] = {}
    for number, entry in enumerate(entries):
        same = first.setdefault(entry, number)
        if same != number:
            detail = f"{place}/{number} is the same as {place}/{same} once defaults are filled in; leave one out"
            yield FieldError(f"{place}/{number}", detail)


def _unfit_noise(spec: SweepSpec, dataset: DatasetRecord) -> Iterator[FieldError]:
    for number, noise in enumerate(spec.noise):
        try:
            refuse_unfit_injection(noise, dataset, f"/noise/{number}")
        except InvalidNoise as error:
            yield from error.errors


def _unfit_fits(spec: SweepSpec, dataset: DatasetRecord, limits: Limits) -> Iterator[FieldError]:
    for number, model in enumerate(spec.models):
        yield from unfit_model(model, dataset, limits, f"/models/{number}")
    yield from unfit_holdout(spec.test_fraction, dataset, "")
