"""The body of a training job: rows -> noisy labels -> fitted estimator -> metrics -> artefact.

With cross-validation the first three steps are done for each fold, and then on all rows for the model that is kept.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

import core
from app.context import ServiceContext
from app.datasets.records import DatasetRecord
from app.jobs.lease import Claim
from app.requests.estimator_specs import kind_of
from app.requests.job_specs import CrossValidation, TrainSpec
from app.trained_models.records import NewTrainedModel
from app.trained_models.service import TrainedModelService
from core import service_api
from workers.estimators import estimator_of, phases_of, warm_up
from workers.monitor import JobMonitor, finished
from workers.parts import Part, Parts, load_parts
from workers.shares import PREPARING, shares_of_rest, with_scoring

#: An unfitted estimator from its seed.
NewEstimator = Callable[[int], Any]

SCORING_SHARE = 0.05


@dataclass(frozen=True)
class _Fit:
    """A fitted estimator, and the rows (row, feature) and labels that it was fitted on."""

    estimator: Any
    X: NDArray[Any]
    training: "_TrainingLabels"
    seconds: float


@dataclass(frozen=True)
class _TrainingLabels:
    """labels (row,); the record of what was done to them; and the share that is wrong by intent, None where none was
    made wrong, as nobody knows those that came wrong.
    """

    labels: NDArray[Any]
    injected: dict[str, Any] | None
    noise_rate: float | None


def train(context: ServiceContext, held: Claim, monitor: JobMonitor) -> Callable[[Session], dict[str, Any]]:
    """Fit the model that a `TrainSpec` asks for and put its artefact into the store; register it when called back."""
    spec = TrainSpec.model_validate(held.request)
    monitor.plan(_shares(spec))
    monitor.begin("loading", 1, "data sets")
    parts = load_parts(context, spec)
    fit, metrics = _evaluated_fit(spec, parts, context.settings.jobs.threads_per_job, monitor)
    found = fit.estimator.fit_summary(fit.training.noise_rate)
    schema = feature_schema(parts.dataset, fit.estimator.classes_)
    stored = context.artifact_store.put(lambda path: core.save(fit.estimator, path, schema=schema))
    model = NewTrainedModel(
        name=spec.name,
        kind=kind_of(spec.model),
        parameters={key: value for key, value in held.request["model"].items() if key != "kind"},
        seed=spec.seed,
        dataset_id=spec.dataset_id,
        data_sha256=parts.dataset.sha256,
        code_version=version("bristlecone"),
        fit_seconds=fit.seconds,
        size_bytes=stored.size_bytes,
        artifact_sha256=stored.sha256,
        metrics=metrics | found.metrics,
        feature_schema=schema,
        noise={
            "injected": fit.training.injected,
            "correction": held.request["noise"].get("correction"),
            "estimated": _estimated(fit.estimator),
        },
        fitted=found.fitted,
        certificate=found.certificate,
    )
    return lambda session: _register(session, context, model, monitor)


def _evaluated_fit(spec: TrainSpec, parts: Parts, n_jobs: int, monitor: JobMonitor) -> tuple[_Fit, dict[str, Any]]:
    """The fit that is kept, and the metrics that the request's `evaluation` asks for."""
    labels = parts.dataset.labels
    new_estimator = partial(_estimator, spec, labels, n_jobs)
    warm_up(new_estimator(spec.seed), monitor)
    of_folds = _fold_scores(spec, parts, new_estimator, monitor)
    fit = _fit(spec, new_estimator(spec.seed), parts.train, labels, spec.seed, monitor)
    return fit, _spread(of_folds) if of_folds else _scores(fit, parts.test, labels, monitor)


def _fit(
    spec: TrainSpec, estimator: Any, clean: Part, labels: NDArray[Any], seed: int, monitor: core.FitMonitor
) -> _Fit:
    training = _training_labels(spec, clean, labels, seed, monitor)
    began = time.perf_counter()
    estimator.fit(clean.X, training.labels, monitor=monitor)
    return _Fit(estimator, clean.X, training, time.perf_counter() - began)


def _fold_scores(
    spec: TrainSpec, parts: Parts, new_estimator: NewEstimator, monitor: JobMonitor
) -> list[dict[str, Any]]:
    """Fit on the noisy training part of each fold and score that and the clean test part."""
    scores, labels = [], parts.dataset.labels
    for number, fold in enumerate(parts.folds, start=1):
        step = service_api.step_monitor(monitor, service_api.fold_prefix(number, len(parts.folds)))
        fit = _fit(spec, new_estimator(fold.seed), parts.train.rows(fold.train_rows), labels, fold.seed, step)
        scores.append(_scores(fit, parts.train.rows(fold.test_rows), labels, step))
    return scores


def _register(session: Session, context: ServiceContext, model: NewTrainedModel, monitor: JobMonitor) -> dict[str, Any]:
    row = TrainedModelService(session, context.artifact_store).register(model)
    return {"model_id": row.id, "progress": finished(monitor.progress())}


def _estimator(spec: TrainSpec, labels: NDArray[Any], n_jobs: int, seed: int) -> Any:
    return estimator_of(spec.model, labels, seed, n_jobs, **_correction(spec))


def _correction(spec: TrainSpec) -> dict[str, Any]:
    """The constructor argument that the request has beside its model, if it has one."""
    return {} if spec.noise.correction is None else {"correction": spec.noise.correction.model_dump()}


def _shares(spec: TrainSpec) -> dict[str, float]:
    """The phases of the job; those of a fit are weighted by the trees they grow, a fit by the rows it sees."""
    n_folds = spec.evaluation.folds if isinstance(spec.evaluation, CrossValidation) else 0
    fits = {service_api.fold_prefix(number, n_folds): 1 - 1 / n_folds for number in range(1, n_folds + 1)} | {"": 1.0}
    shares = dict(PREPARING)
    of_fit = shares_of_rest(with_scoring(phases_of(spec.model, spec.noise.inject, **_correction(spec)), SCORING_SHARE))
    for step, weight in fits.items():
        of_job = weight / sum(fits.values())
        shares |= {step + phase: of_job * share for phase, share in of_fit.items()}
    if n_folds:  # the last fit has no rows left to be scored on
        del shares["scoring"]
    return shares


def _training_labels(
    spec: TrainSpec, clean: Part, classes: NDArray[Any], seed: int, monitor: core.FitMonitor
) -> _TrainingLabels:
    inject = spec.noise.inject
    if inject is None:
        return _TrainingLabels(clean.y, None, None)
    noisy = core.inject_noise(
        clean.y, inject.model_dump(), X=clean.X, random_state=seed, classes=classes, monitor=monitor
    )
    flipped_rows = int(np.count_nonzero(noisy.flipped))
    record = {
        **inject.model_dump(),
        "flipped_rows": flipped_rows,
        "observed_rate": flipped_rows / len(noisy.flipped),
    }
    return _TrainingLabels(noisy.labels, record, service_api.expected_noise_rate(inject.model_dump(), noisy, clean.y))


def _estimated(estimator: Any) -> dict[str, Any] | None:
    """What the fit found out about the noise of its labels; None where it was not asked to."""
    noise: core.TransitionEstimate | None = getattr(estimator, "noise_estimate_", None)
    return noise and {
        "rate": noise.noise_rate,
        "standard_error": noise.noise_rate_error,
        "transition": noise.transition.to_json(),
    }


def _scores(fit: _Fit, test: Part | None, labels: NDArray[Any], monitor: core.FitMonitor) -> dict[str, Any]:
    """Reports on the training part as it was fitted, and on the clean test part, which noise never touches."""
    monitor.begin("scoring", 2, "parts")
    scores = {"train_noisy": core.evaluate(fit.estimator, fit.X, fit.training.labels, labels)}
    monitor.advance(1)
    if test is not None:
        scores["test"] = core.evaluate(fit.estimator, test.X, test.y, labels)
    monitor.advance(2)
    return scores


def _spread(of_folds: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and standard deviation of both parts over the folds, and the folds themselves."""
    metrics: dict[str, Any] = {}
    for part in ("train_noisy", "test"):
        metrics[part], metrics[f"{part}_sd"] = core.spread_of_scores([scores[part] for scores in of_folds])
    return {**metrics, "folds": of_folds}


def feature_schema(dataset: DatasetRecord, classes: NDArray[Any]) -> dict[str, Any]:
    """What a prediction needs to know of the training data: features in order, categories, labels."""
    features = [{key: feature[key] for key in ("name", "kind", "categories")} for feature in dataset.features]
    return {"target": dataset.target, "classes": classes.tolist(), "features": features}
