"""Permutation importances of the model of a training job, on its held-out rows.

They are measured when the model is trained, because the rows are loaded then; the work is bounded, so that it takes a
small part of the job.
"""

from typing import Any

import numpy as np

from app.requests.evaluation_specs import CrossValidation
from app.training.specs import TrainSpec
from core import FitMonitor, service_api
from workers.dataset_rows import LabeledRows

N_REPEATS = 5
#: Features with the largest impurity importances that are permuted.
MAX_FEATURES = 100
MIN_ROWS, MAX_ROWS = 200, 1_000
#: Rows times trees times features times repeats, and rows times columns, beyond which fewer rows are used.
MAX_VISITS = 10_000_000
MAX_CELLS = 2_000_000

_NO_ROWS = "no rows were held out; train with the evaluation `holdout` or `dataset`"
_FOLDS = "with cross-validation, the stored model is fitted on all rows; train with `holdout` or `dataset`"


def measured_importances(
    spec: TrainSpec, estimator: Any, test: LabeledRows | None, monitor: FitMonitor
) -> dict[str, Any]:
    """Return what `TrainedModelRow.importances` stores: figures by the number of the feature, or the reason why not."""
    if test is None:
        return {"reason": _FOLDS if isinstance(spec.evaluation, CrossValidation) else _NO_ROWS}
    used = service_api.split_features(estimator)
    order = np.argsort(-service_api.impurity_importances(estimator).mean[used], kind="stable")
    features = np.sort(used[order[:MAX_FEATURES]]).tolist()
    rows = _drawn_rows(test, len(estimator.trees_) * max(len(features), 1), spec.seed)
    found = service_api.permutation_importances(
        estimator, rows.X, rows.y, features, n_repeats=N_REPEATS, random_state=spec.seed, monitor=monitor
    )
    return {
        "accuracy": found.accuracy,
        "n_rows": len(rows),
        "n_repeats": N_REPEATS,
        "features": {str(j): [found.mean[j].item(), found.sd[j].item()] for j in features},
        "reason": _left_out(len(used)),
    }


def importance_work(fit_work: float) -> dict[str, float]:
    """Return the phase with a bound on its work, for a job whose fit is so much work."""
    return {service_api.PERMUTING: 0.1 * fit_work}


def _drawn_rows(test: LabeledRows, visits_per_row: int, seed: int) -> LabeledRows:
    """Return the rows to predict, drawn at random if there are more than the bounds allow."""
    affordable = min(MAX_VISITS // (N_REPEATS * visits_per_row), MAX_CELLS // test.X.shape[1])
    n_rows = int(np.clip(affordable, MIN_ROWS, MAX_ROWS))
    if len(test) <= n_rows:
        return test
    return test.take(np.sort(np.random.default_rng(seed).choice(len(test), n_rows, replace=False)))


def _left_out(n_used: int) -> str | None:
    if n_used <= MAX_FEATURES:
        return None
    return f"the trees split by {n_used:,} features; the {MAX_FEATURES} most important ones by impurity were permuted"
