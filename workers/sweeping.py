"""The body of a cell of a sweep: rows -> several times held-out rows, noisy labels, a fit -> scores on clean labels."""

from collections.abc import Callable
from functools import partial
from typing import Any

from numpy.typing import NDArray
from sqlalchemy.orm import Session

import core
from app.context import ServiceContext
from app.jobs.lease import Claim
from app.requests.job_specs import SweepCellSpec
from app.sweeps.service import METRICS, keep_scores
from core import service_api
from workers.estimators import estimator_of, phases_of, warm_up
from workers.monitor import JobMonitor, finished
from workers.parts import Part, load_whole
from workers.shares import PREPARING, shares_of_rest, with_scoring

SCORING_SHARE = 0.03


def sweep_cell(context: ServiceContext, held: Claim, monitor: JobMonitor) -> Callable[[Session], dict[str, Any]]:
    """Fit and score as often as a `SweepCellSpec` asks for; keep the scores, and no model, when called back."""
    spec = SweepCellSpec.model_validate(held.request)
    monitor.plan(_shares(spec))
    scores = _scores_of_repeats(spec, context, monitor)
    return lambda session: _keep(session, held, scores, monitor)


def _scores_of_repeats(spec: SweepCellSpec, context: ServiceContext, monitor: JobMonitor) -> dict[str, list[float]]:
    """One value of each metric a repeat. Rows, noise and fit of a repeat follow from the sweep's seed and the repeat's
    number alone, so that cells can be compared repeat by repeat.
    """
    monitor.begin("loading", 1, "data sets")
    dataset, whole = load_whole(context, spec.dataset_id)
    new_estimator = partial(estimator_of, spec.model, dataset.labels, n_jobs=context.settings.jobs.threads_per_job)
    warm_up(new_estimator(spec.seed), monitor)
    repeats = core.repeated_holdouts(whole.y, spec.test_fraction, spec.repeats, random_state=spec.seed)
    reports = []
    for number, repeat in enumerate(repeats, start=1):
        step = service_api.step_monitor(monitor, _step(number, spec))
        reports.append(_report(spec, whole, dataset.labels, repeat, new_estimator(repeat.seed), step))
    return {metric: [report[metric] for report in reports] for metric in METRICS}


def _report(
    spec: SweepCellSpec,
    whole: Part,
    classes: NDArray[Any],
    repeat: core.SeededSplit,
    estimator: Any,
    monitor: core.FitMonitor,
) -> dict[str, Any]:
    """Metrics on the held-out rows, whose labels stay clean, of a fit on the others with noise in theirs."""
    train, test = whole.rows(repeat.train_rows), whole.rows(repeat.test_rows)
    noise = spec.noise.model_dump()
    noisy = core.inject_noise(train.y, noise, X=train.X, random_state=repeat.seed, classes=classes, monitor=monitor)
    estimator.fit(train.X, noisy.labels, monitor=monitor)
    monitor.begin("scoring", 1, "parts")
    return core.evaluate(estimator, test.X, test.y, classes)


def _keep(session: Session, held: Claim, scores: dict[str, list[float]], monitor: JobMonitor) -> dict[str, Any]:
    keep_scores(session, held.job_id, scores)
    return {"progress": finished(monitor.progress())}


def _step(number: int, spec: SweepCellSpec) -> str:
    """What the phases of a repeat begin with."""
    return f"repeat {number} of {spec.repeats}: "


def _shares(spec: SweepCellSpec) -> dict[str, float]:
    of_fit = with_scoring(phases_of(spec.model, spec.noise), SCORING_SHARE)
    steps = [_step(number, spec) for number in range(1, spec.repeats + 1)]
    return PREPARING | shares_of_rest({step + phase: work for step in steps for phase, work in of_fit.items()})
