"""Body of an audit: compute out-of-sample votes, estimate the label noise, and rank the labels."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

import core
from app.audits.records import UNLABELED, AuditedRows, NewAudit
from app.audits.service import register
from app.audits.specs import AuditSpec
from app.audits.store import write_rows
from app.context import ServiceContext
from app.jobs.lease import Claim
from app.requests.job_memory import audit_memory
from app.storage.content_store import StagedFile
from app.storage.json_text import with_serialized_fields
from core import service_api
from workers.dataset_rows import LabeledRows, LoadedDataset, UnlabeledRows, dataset_record, load_rows
from workers.estimators import build_estimator, compile_kernels
from workers.full_disk import when_it_fits
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
    """Audit and its file of rows."""

    audit: NewAudit
    files: tuple[StagedFile]

    def store(self, session: Session, context: ServiceContext) -> dict[str, Any]:
        """Register the audit; it has the id of its job."""
        register(session, self.audit)
        return {}


def audit(context: ServiceContext, claim: Claim, monitor: JobMonitor) -> AuditResult:
    """Run the audit that an `AuditSpec` asks for and write its rows to a file, worst first."""
    spec = AuditSpec.model_validate(claim.request)
    monitor.plan(_phase_weights(spec))
    monitor.begin("loading", 1, "data sets")
    record, limits = dataset_record(context, spec.dataset_id), context.settings.limits
    audit_memory(spec.model, spec.folds, record, limits).check(limits.max_job_bytes)
    loaded = load_rows(context, record)
    estimator = build_estimator(spec.model, record.labels, spec.seed, context.settings.jobs.threads_per_job)
    compile_kernels(loaded.labeled.X, monitor, estimator)
    label_audit = _label_audit(loaded, estimator, spec, monitor)
    rows = _audited_rows(label_audit, loaded.labeled).with_unlabeled(_unlabeled_rows(label_audit, loaded.unlabeled))
    stage = partial(context.issue_store.stage, lambda path: write_rows(path, rows.worst_first()))
    file = when_it_fits(stage, monitor)
    new = NewAudit(
        job_id=claim.job_id,
        dataset_id=record.id,
        classes=label_audit.classes.tolist(),
        n_rows=len(loaded.labeled),
        n_issues=int(np.count_nonzero(rows.is_issue)),
        report=_report(label_audit) | {"n_unlabeled": len(loaded.unlabeled.rows)},
        issues_sha256=file.sha256,
    )
    return AuditResult(with_serialized_fields(new), (file,))


def _label_audit(loaded: LoadedDataset, estimator: Any, spec: AuditSpec, monitor: JobMonitor) -> core.LabelAudit:
    rows, unlabeled = loaded.labeled, loaded.unlabeled
    return core.audit_labels(
        rows.X,
        rows.y,
        estimator,
        spec.folds,
        random_state=spec.seed,
        monitor=monitor,
        groups=rows.groups,
        X_unlabeled=unlabeled.X if len(unlabeled.rows) else None,
    )


def _phase_weights(spec: AuditSpec) -> dict[str, float]:
    estimator = spec.model.estimator_class(**spec.model.constructor_arguments())
    return PREPARATION | weights_after_preparation(service_api.audit_phases(estimator, spec.folds))


def _audited_rows(audit: core.LabelAudit, labeled: LabeledRows) -> AuditedRows:
    return AuditedRows(
        row=labeled.rows,
        given=labeled.y.among(audit.classes).codes.astype(np.int32),
        suggested=audit.issues.suggested.codes.astype(np.int32),
        quality=audit.issues.quality,
        is_issue=audit.issues.is_issue,
    )


def _unlabeled_rows(audit: core.LabelAudit, unlabeled: UnlabeledRows) -> AuditedRows:
    n_rows = len(unlabeled.rows)
    no_rows = np.empty(0, dtype=np.int32)
    suggested = no_rows if audit.unlabeled_suggested is None else audit.unlabeled_suggested.codes
    return AuditedRows(
        row=unlabeled.rows,
        given=np.full(n_rows, UNLABELED, dtype=np.int32),
        suggested=suggested.astype(np.int32),
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
