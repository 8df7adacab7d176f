"""Body of an audit: compute out-of-sample votes, estimate the label noise, and rank the labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

import core
from app.audits.records import UNLABELED, JudgedRows, NewAudit
from app.audits.service import register
from app.audits.specs import AuditSpec
from app.audits.store import write_rows
from app.context import ServiceContext
from app.jobs.lease import Claim
from core import service_api
from workers.dataset_rows import LabeledRows, UnlabeledRows, load_dataset
from workers.estimators import build_estimator, compile_kernels
from workers.monitor import JobMonitor
from workers.progress_weights import PREPARATION, weights_after_preparation

#: A thousand classes have a million pairs.
MAX_CONFUSED_PAIRS = 1000
ASSUMPTION = (
    "Within a true class, which labels are wrong does not depend on the features. Human errors concentrate on rows "
    "that are hard to tell apart, and features often do not show them: labels of high quality are then wrong more "
    "often than their quality says. `misfit` tells how far the labels show it; it widens the errors and shrinks the "
    "qualities. A misfit that the labels do not show is not covered; to measure it, review a sample of labels of high "
    "quality."
)
_CLASS_FIELDS = ("label", "given", "issues", "share", "share_error")


@dataclass(frozen=True)
class AuditResult:
    """Audit whose file of rows is in the store."""

    audit: NewAudit

    def store(self, session: Session, context: ServiceContext) -> dict[str, Any]:
        """Register the audit; it has the id of its job."""
        register(session, context.issue_store, self.audit)
        return {}


def audit(context: ServiceContext, claim: Claim, monitor: JobMonitor) -> AuditResult:
    """Run the audit that an `AuditSpec` asks for and put its rows into the store, worst first."""
    spec = AuditSpec.model_validate(claim.request)
    monitor.plan(_phase_weights(spec))
    monitor.begin("loading", 1, "data sets")
    loaded = load_dataset(context, spec.dataset_id)
    clean = loaded.labeled
    estimator = build_estimator(spec.model, loaded.record.labels, spec.seed, context.settings.jobs.threads_per_job)
    compile_kernels(clean.X, monitor, estimator)
    label_audit = core.audit_labels(
        clean.X,
        clean.y,
        estimator,
        spec.folds,
        random_state=spec.seed,
        monitor=monitor,
        groups=clean.groups,
        X_unlabeled=loaded.unlabeled.X if len(loaded.unlabeled.rows) else None,
    )
    rows = _judged_rows(label_audit, clean).with_unlabeled(_unlabeled_rows(label_audit, loaded.unlabeled))
    file = context.issue_store.put(lambda path: write_rows(path, rows.worst_first()))
    return AuditResult(
        NewAudit(
            job_id=claim.job_id,
            classes=label_audit.classes.tolist(),
            n_rows=len(clean),
            n_issues=int(np.count_nonzero(rows.is_issue)),
            report=_report(label_audit) | {"n_unlabeled": len(loaded.unlabeled.rows)},
            issues_sha256=file.sha256,
        )
    )


def _phase_weights(spec: AuditSpec) -> dict[str, float]:
    estimator = spec.model.estimator_class(**spec.model.constructor_arguments())
    return PREPARATION | weights_after_preparation(service_api.audit_phases(estimator, spec.folds))


def _judged_rows(audit: core.LabelAudit, clean: LabeledRows) -> JudgedRows:
    return JudgedRows(
        row=clean.rows,
        given=np.searchsorted(audit.classes, clean.y).astype(np.int32),
        suggested=np.searchsorted(audit.classes, audit.issues.suggested).astype(np.int32),
        quality=audit.issues.quality,
        is_issue=audit.issues.is_issue,
    )


def _unlabeled_rows(audit: core.LabelAudit, unlabeled: UnlabeledRows) -> JudgedRows:
    n_rows = len(unlabeled.rows)
    suggested = audit.classes[:0] if audit.unlabeled_suggested is None else audit.unlabeled_suggested
    return JudgedRows(
        row=unlabeled.rows,
        given=np.full(n_rows, UNLABELED, dtype=np.int32),
        suggested=np.searchsorted(audit.classes, suggested).astype(np.int32),
        quality=np.full(n_rows, np.nan),
        is_issue=np.zeros(n_rows, dtype=bool),
    )


def _report(audit: core.LabelAudit) -> dict[str, Any]:
    """Return what `GET /audits/{id}` shows beside the counts of rows."""
    noise = audit.noise
    classes = zip(
        audit.classes.tolist(),
        audit.given_counts.tolist(),
        audit.issue_counts.tolist(),
        noise.priors.tolist(),
        _finite_or_none(noise.priors_error),
        strict=True,
    )
    confused = audit.confused[:MAX_CONFUSED_PAIRS]
    return {
        "n_wrong": audit.n_wrong,
        "n_wrong_error": _finite_or_none(audit.n_wrong_error),
        "n_judged": audit.n_judged,
        "noise_rate": noise.noise_rate,
        "noise_rate_error": _finite_or_none(noise.noise_rate_error),
        "classes": [dict(zip(_CLASS_FIELDS, values, strict=True)) for values in classes],
        "transition": noise.transition.rows.tolist(),
        "transition_error": [_finite_or_none(row) for row in noise.standard_error],
        "confused": [pair._asdict() | {"n_rows_error": _finite_or_none(pair.n_rows_error)} for pair in confused],
        "method": audit.method,
        "misfit": {"dispersion": noise.misfit.dispersion, "excess": noise.misfit.excess},
        "assumption": ASSUMPTION,
        "warning": noise.identification.warning,
    }


def _finite_or_none(values: Any) -> Any:
    """Return the values as plain numbers, with None for NaN and infinity, which JSON does not have."""
    numbers = np.asarray(values, dtype=np.float64)
    plain = numbers.astype(object)
    plain[~np.isfinite(numbers)] = None
    return plain.tolist()
