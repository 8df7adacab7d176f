"""Body of a sweep's cell: hold out rows, inject noise, fit, and score on labels as uploaded, several times."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.typing import NDArray
from sqlalchemy.orm import Session

import core
from app.context import ServiceContext
from app.jobs.lease import Claim
from app.requests.job_memory import cell_memory
from app.sweeps.records import METRICS, Scores
from app.sweeps.service import store_scores
from app.sweeps.specs import SweepCellSpec
from core import service_api
from workers.dataset_rows import LabeledRows, dataset_record, load_rows
from workers.estimators import build_estimator, compile_kernels, fit_work
from workers.monitor import JobMonitor
from workers.progress_weights import PREPARATION, weights_after_preparation, with_scoring

SCORING_FRACTION = 0.03

Metrics = dict[str, Any]


@dataclass(frozen=True)
class CellResult:
    """Scores of a cell, one value per repeat, by metric. The models are not kept."""

    claim: Claim
    scores: Scores
    files: tuple[()] = ()

    def store(self, session: Session, context: ServiceContext) -> dict[str, Any]:
        """Store the scores in the row of the cell."""
        store_scores(session, self.claim.job_id, self.scores)
        return {}


def sweep_cell(context: ServiceContext, claim: Claim, monitor: JobMonitor) -> CellResult:
    """Fit and score a model as often as a `SweepCellSpec` asks for."""
    spec = SweepCellSpec.model_validate(claim.request)
    monitor.plan(_phase_weights(spec))
    repeats = list(_repeats(spec, context, monitor))
    return CellResult(claim, {metric: [metrics[metric] for metrics in repeats] for metric in METRICS})


def _repeats(spec: SweepCellSpec, context: ServiceContext, monitor: JobMonitor) -> Iterator[Metrics]:
    """Yield the metrics of each repeat.

    Rows, noise and fit of a repeat depend only on the sweep's seed and the number of the repeat, so that cells can be
    compared repeat by repeat.
    """
    monitor.begin("loading", 1, "data sets")
    dataset, limits = dataset_record(context, spec.dataset_id), context.settings.limits
    cell_memory(spec.model, spec.noise, spec.test_fraction, dataset, limits).check(limits.max_job_bytes)
    rows = load_rows(context, dataset).labeled
    n_jobs = context.settings.jobs.threads_per_job
    new_estimator = partial(build_estimator, spec.model, dataset.labels, n_jobs=n_jobs)
    compile_kernels(rows.X, monitor, new_estimator(spec.seed))
    splits = core.repeated_holdouts(
        rows.y, spec.test_fraction, spec.repeats, random_state=spec.seed, groups=rows.groups
    )
    for number, split in enumerate(splits, start=1):
        repeat_monitor = service_api.step_monitor(monitor, _prefix(number, spec))
        yield _metrics(spec, rows, dataset.labels, split, new_estimator(split.seed), repeat_monitor)


def _metrics(
    spec: SweepCellSpec,
    rows: LabeledRows,
    classes: NDArray[Any],
    split: core.SeededSplit,
    estimator: Any,
    monitor: core.FitMonitor,
) -> Metrics:
    """Fit on the training rows with noise in their labels, and score on the held-out rows as uploaded."""
    train, test = rows.take(split.train_rows), rows.take(split.test_rows)
    noise = spec.noise.model_dump()
    noisy = core.inject_noise(train.y, noise, X=train.X.X, random_state=split.seed, classes=classes, monitor=monitor)
    estimator.fit(train.X, noisy.labels, sample_weight=train.weights, groups=train.groups, monitor=monitor)
    monitor.begin("scoring", 1, "parts")
    return core.evaluate(estimator, test.X, test.y, classes)


def _prefix(number: int, spec: SweepCellSpec) -> str:
    """Return the prefix of the phases of a repeat."""
    return f"repeat {number} of {spec.repeats}: "


def _phase_weights(spec: SweepCellSpec) -> dict[str, float]:
    work = with_scoring(fit_work(spec.model, spec.noise), SCORING_FRACTION)
    prefixes = [_prefix(number, spec) for number in range(1, spec.repeats + 1)]
    return PREPARATION | weights_after_preparation(
        {prefix + phase: amount for prefix in prefixes for phase, amount in work.items()}
    )
