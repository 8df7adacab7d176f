"""The body of an audit: rows -> out-of-sample votes -> estimated noise and judged rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

import core
from app.audits.service import NewAudit, register
from app.audits.store import JudgedRows, write_rows
from app.context import ServiceContext
from app.jobs.lease import Claim
from app.requests.estimator_specs import constructor_arguments, kind_of
from app.requests.job_specs import AuditSpec
from core import service_api
from workers.estimators import estimator_of, warm_up
from workers.monitor import JobMonitor, finished
from workers.parts import load_whole
from workers.shares import PREPARING, shares_of_rest

#: Of a thousand classes there are a million pairs.
MOST_CONFUSED_PAIRS = 1000
_OF_CLASS = ("label", "given", "issues", "share", "share_error")


def audit(context: ServiceContext, held: Claim, monitor: JobMonitor) -> Callable[[Session], dict[str, Any]]:
    """Judge the labels that an `AuditSpec` names and put the judged rows into the store; keep both when called back."""
    spec = AuditSpec.model_validate(held.request)
    monitor.plan(_shares(spec))
    monitor.begin("loading", 1, "data sets")
    dataset, whole = load_whole(context, spec.dataset_id)
    estimator = estimator_of(spec.model, dataset.labels, spec.seed, context.settings.jobs.threads_per_job)
    warm_up(estimator, monitor)
    found = core.audit_labels(whole.X, whole.y, estimator, spec.folds, random_state=spec.seed, monitor=monitor)
    rows = _judged_rows(found, whole.y)
    stored = context.issue_store.put(lambda path: write_rows(path, rows.worst_first()))
    audited = NewAudit(
        job_id=held.job_id,
        classes=found.classes.tolist(),
        n_rows=len(rows),
        n_issues=int(np.count_nonzero(rows.is_issue)),
        report=_report(found),
        issues_sha256=stored.sha256,
    )
    return lambda session: _register(session, context, audited, monitor)


def _register(session: Session, context: ServiceContext, audited: NewAudit, monitor: JobMonitor) -> dict[str, Any]:
    register(session, context.issue_store, audited)
    return {"progress": finished(monitor.progress())}


def _shares(spec: AuditSpec) -> dict[str, float]:
    unfitted = core.ESTIMATORS[kind_of(spec.model)](**constructor_arguments(spec.model))
    return PREPARING | shares_of_rest(service_api.audit_phases(unfitted, spec.folds))


def _judged_rows(found: core.LabelAudit, given: NDArray[Any]) -> JudgedRows:
    return JudgedRows(
        row=np.arange(len(given)),
        given=np.searchsorted(found.classes, given).astype(np.int32),
        suggested=np.searchsorted(found.classes, found.issues.suggested).astype(np.int32),
        quality=found.issues.quality,
        is_issue=found.issues.is_issue,
    )


def _report(found: core.LabelAudit) -> dict[str, Any]:
    """What `GET /audits/{id}` shows beside the counts of rows."""
    noise = found.noise
    classes = zip(
        found.classes.tolist(),
        found.given_counts.tolist(),
        found.issue_counts.tolist(),
        noise.priors.tolist(),
        _finite(noise.priors_error),
        strict=True,
    )
    shown = found.confused[:MOST_CONFUSED_PAIRS]
    return {
        "n_wrong": found.n_wrong,
        "n_wrong_error": _finite(found.n_wrong_error),
        "n_judged": found.n_judged,
        "noise_rate": noise.noise_rate,
        "noise_rate_error": _finite(noise.noise_rate_error),
        "classes": [dict(zip(_OF_CLASS, values, strict=True)) for values in classes],
        "transition": noise.transition.rows.tolist(),
        "transition_error": [_finite(row) for row in noise.standard_error],
        "confused": [pair._asdict() | {"n_rows_error": _finite(pair.n_rows_error)} for pair in shown],
        "method": found.method,
    }


def _finite(values: Any) -> Any:
    """As plain numbers, None for what JSON has no number for."""
    listed = np.asarray(values, dtype=np.float64)
    plain = listed.astype(object)
    plain[~np.isfinite(listed)] = None
    return plain.tolist()
