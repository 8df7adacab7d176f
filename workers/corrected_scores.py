"""Scores on the true labels, estimated from the test labels as they are.

The labels that a model is tested on are as noisy as the file was: injection changes training labels only. So the matrix
of injected noise never describes them. A matrix that the request gives for a correction does, if nothing was injected
and the test rows come from the same file. In all other cases the noise is estimated: from the training labels before
injection or, with a separate test data set, from its own labels.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import core
from app.requests.evaluation_specs import MAX_CORRECTED_CLASSES, NoEvaluation, TestDataset
from app.training.specs import TrainSpec
from core import service_api
from workers.dataset_rows import LabeledRows
from workers.row_split import RowSplit

ASSUMPTION = (
    "Within a true class, which labels are wrong does not depend on the features. Human errors concentrate on rows "
    "that are hard to tell apart; with them, the corrected accuracy tends to be too high, by more than its standard "
    "error."
)
ONE_GROUP = (
    "all training rows are in one group of the column that the upload named as `group`; the estimate of the noise "
    "needs at least two groups, because rows of a group stay together"
)


@dataclass(frozen=True)
class TestPredictions:
    """Predictions (row,) of the test rows of a job by models that have not been fitted on them.

    rows: the held-out rows; None if the predictions are those of the folds, for all training rows in their order.
    """

    __test__ = False  # Keeps pytest from collecting the class as a test.

    predicted: core.EncodedLabels
    rows: LabeledRows | None


@dataclass(frozen=True)
class CorrectedScorer:
    """Estimator of scores on the true labels for the labels of these `classes` (class,)."""

    spec: TrainSpec
    classes: NDArray[Any]
    n_jobs: int

    def score(self, split: RowSplit, test: TestPredictions, monitor: core.FitMonitor) -> dict[str, Any]:
        """Return `metrics.test_corrected`: the scores, or null values with the reason."""
        if len(self.classes) > MAX_CORRECTED_CLASSES:
            return _missing(
                f"the labels have {len(self.classes)} classes; at most {MAX_CORRECTED_CLASSES} are supported"
            )
        if len(self.classes) == 1:
            return _missing("all labels are of one class, so that no label can be wrong")
        try:
            noise = self._noise(split.train, monitor)
            return self._scores(noise, test)
        except core.TooFewGroups:
            return _missing(ONE_GROUP)
        except (core.InvalidInput, core.InvalidNoise) as error:
            return _missing(str(error))

    def _noise(self, train: LabeledRows, monitor: core.FitMonitor) -> core.LabelNoise:
        """Return the noise of the training labels as uploaded."""
        return core.estimate_label_noise(
            train.X,
            train.y,
            given_matrix(self.spec),
            train.groups,
            classes=self.classes,
            random_state=self.spec.seed,
            n_jobs=self.n_jobs,
            monitor=monitor,
        )

    def _scores(self, noise: core.LabelNoise, test: TestPredictions) -> dict[str, Any]:
        if test.rows is not None and isinstance(self.spec.evaluation, TestDataset):
            noise = noise.for_other_labels(test.rows.X, test.rows.y)
        identification = noise.estimate.identification
        if not identification.is_identified:
            return _missing(identification.warning or "")
        if test.rows is None:
            return self._record(noise, noise.accuracy_on_own_rows(test.predicted), len(noise.row_numbers))
        result = noise.accuracy_on(test.rows.X, test.rows.y, test.predicted)
        return self._record(noise, result, len(test.predicted))

    def _record(self, noise: core.LabelNoise, result: core.CorrectedAccuracy, n_rows: int) -> dict[str, Any]:
        columns = (result.classes, result.class_errors, result.class_standard_errors)
        classes = zip(*(column.tolist() for column in columns), strict=True)
        return {
            "accuracy": result.accuracy,
            "standard_error": result.standard_error,
            "classes": [
                {"label": label, "error": _finite(error), "standard_error": _finite(standard_error)}
                for label, error, standard_error in classes
            ],
            "n_rows": n_rows,
            "matrix": "estimated" if given_matrix(self.spec) is None else "given",
            "noise_rate": noise.estimate.noise_rate,
            "noise_rate_error": noise.estimate.noise_rate_error,
            "transition": noise.estimate.transition.to_json(),
            "assumption": ASSUMPTION,
            "warning": noise.estimate.identification.warning,
            "reason": None,
        }


def given_matrix(spec: TrainSpec) -> Any:
    """Return the matrix that the request gives for the test labels, or None if it has to be estimated."""
    correction = spec.noise.correction
    if correction is None or spec.noise.inject is not None or isinstance(spec.evaluation, TestDataset):
        return None
    transition = correction.model_dump()["transition"]
    return None if isinstance(transition, str) else transition


def scoring_work(spec: TrainSpec) -> dict[str, float]:
    """Return the phase of the estimate with its work in units of one tree, or nothing without test rows."""
    return {} if isinstance(spec.evaluation, NoEvaluation) else dict(service_api.label_noise_phases())


def noise_forests(spec: TrainSpec) -> list[Any]:
    """Return the unfitted forest of the estimate, whose kernels have to be compiled, or nothing without test rows."""
    return [service_api.noise_forest()] if scoring_work(spec) else []


def _missing(reason: str) -> dict[str, Any]:
    return {"accuracy": None, "standard_error": None, "classes": None, "warning": None, "reason": reason}


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
