"""One fit of a training job: labels with injected noise, the fitted estimator, and its scores."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import core
from app.training.specs import TrainSpec
from core import service_api
from workers.dataset_rows import LabeledRows
from workers.estimators import build_estimator


@dataclass(frozen=True)
class TrainingLabels:
    """Labels (row,) of a fit.

    injected: record of the injected noise, or None. noise_rate: expected share of labels that the injection changed;
    None if nothing was injected, since the noise that was there before is unknown.
    """

    labels: core.EncodedLabels
    injected: dict[str, Any] | None
    noise_rate: float | None


@dataclass(frozen=True)
class FittedModel:
    """Fitted estimator with the rows and labels that it was fitted on."""

    estimator: Any
    X: core.EncodedTable
    training: TrainingLabels
    seconds: float

    def scores(
        self, test: LabeledRows | None, classes: NDArray[Any], monitor: core.FitMonitor
    ) -> dict[str, dict[str, Any]]:
        """Score the training rows with the labels of the fit, and the test rows with their labels as uploaded."""
        monitor.begin("scoring", 2, "parts")
        scores = {"train_noisy": core.evaluate(self.estimator, self.X, self.training.labels, classes)}
        monitor.advance(1)
        if test is not None:
            scores["test"] = core.evaluate(self.estimator, test.X, test.y, classes)
            if test.n_unknown_cells is not None:
                scores["test"]["n_unknown_cells"] = test.n_unknown_cells
        monitor.advance(2)
        return scores


@dataclass(frozen=True)
class Fitter:
    """Fitter of the model of a request to labels of these `classes` (class,)."""

    spec: TrainSpec
    classes: NDArray[Any]
    n_jobs: int

    def estimator(self, seed: int) -> Any:
        """Return an unfitted estimator."""
        return build_estimator(self.spec.model, self.classes, seed, self.n_jobs, **correction_argument(self.spec))

    def fit(self, rows: LabeledRows, seed: int, monitor: core.FitMonitor) -> FittedModel:
        """Inject the requested noise into the labels and fit an estimator; `seed` determines both."""
        estimator = self.estimator(seed)
        training = self._training_labels(rows, seed, monitor)
        started = time.perf_counter()
        estimator.fit(rows.X, training.labels, sample_weight=rows.weights, groups=rows.groups, monitor=monitor)
        return FittedModel(estimator, rows.X, training, time.perf_counter() - started)

    def _training_labels(self, rows: LabeledRows, seed: int, monitor: core.FitMonitor) -> TrainingLabels:
        inject = self.spec.noise.inject
        if inject is None:
            return TrainingLabels(rows.y, None, None)
        noisy = core.inject_noise(
            rows.y, inject.model_dump(), X=rows.X.X, random_state=seed, classes=self.classes, monitor=monitor
        )
        flipped_rows = int(np.count_nonzero(noisy.flipped))
        record = {
            **inject.model_dump(),
            "flipped_rows": flipped_rows,
            "observed_rate": flipped_rows / len(noisy.flipped),
        }
        rate = service_api.expected_noise_rate(inject.model_dump(), noisy, rows.y)
        return TrainingLabels(noisy.labels, record, rate)


def correction_argument(spec: TrainSpec) -> dict[str, Any]:
    """Return the constructor argument that the request carries beside its `model`, if there is one."""
    return {} if spec.noise.correction is None else {"correction": spec.noise.correction.model_dump()}
