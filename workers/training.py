"""The body of a training job: rows -> noisy labels -> fitted estimator -> metrics -> artefact."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

import core
from app.context import ServiceContext
from app.datasets.tables import DatasetRow
from app.jobs.estimator_specs import constructor_arguments, kind_of
from app.jobs.noise_specs import AdversarialNoise, InjectionSpec, UniformNoise
from app.jobs.specs import TrainSpec
from app.label_text import label_text
from app.trained_models.service import NewTrainedModel, TrainedModelService
from workers.monitor import JobMonitor, finished
from workers.parts import Parts, load_parts

log = logging.getLogger(__name__)

#: Parts of the work outside of growing trees, as shares of the whole.
LOADING_SHARE, COMPILING_SHARE, SCORING_SHARE = 0.02, 0.01, 0.05
#: Loading kernels from the disk takes less.
COMPILING_SECONDS = 1.0


@dataclass(frozen=True)
class _Fit:
    """A fitted estimator, and the labels it was fitted on."""

    estimator: Any
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


def train(context: ServiceContext, request: dict[str, Any], monitor: JobMonitor) -> Callable[[Session], dict[str, Any]]:
    """Fit the model that a `TrainSpec` asks for and put its artefact into the store; register it when called back."""
    spec = TrainSpec.model_validate(request)
    monitor.plan(_shares(spec))
    monitor.begin("loading", 1, "data sets")
    parts = load_parts(context, spec)
    fit = _fit(spec, parts, context.settings.jobs.threads_per_job, monitor)
    metrics = _metrics(fit, parts, monitor)
    found = fit.estimator.findings(fit.training.noise_rate)
    schema = feature_schema(parts.dataset, fit.estimator.classes_)
    stored = context.artifact_store.put(lambda path: core.save(fit.estimator, path, schema=schema))
    model = NewTrainedModel(
        name=spec.name,
        kind=kind_of(spec.model),
        parameters={key: value for key, value in request["model"].items() if key != "kind"},
        seed=spec.seed,
        dataset_id=spec.dataset_id,
        data_sha256=parts.dataset.sha256,
        code_version=version("bristlecone"),
        fit_seconds=fit.seconds,
        size_bytes=stored.size_bytes,
        artifact_sha256=stored.sha256,
        metrics=metrics | found.metrics,
        feature_schema=schema,
        noise={"injected": fit.training.injected, "correction": request["noise"].get("correction")},
        fitted=found.facts,
        certificate=found.certificate,
    )
    return lambda session: _register(session, context, model, monitor)


def _fit(spec: TrainSpec, parts: Parts, n_jobs: int, monitor: JobMonitor) -> _Fit:
    estimator = _estimator(spec, parts.dataset.labels, n_jobs)
    _warm_up(estimator, monitor)
    training = _training_labels(spec, parts)
    began = time.perf_counter()
    estimator.fit(parts.train.X, training.labels, monitor=monitor)
    return _Fit(estimator, training, time.perf_counter() - began)


def _warm_up(estimator: Any, monitor: JobMonitor) -> None:
    """Compile what no job on this machine has needed so far, so that the time of the fit is the fit's."""
    monitor.begin("compiling", 1, "fits")
    began = time.perf_counter()
    core.warm_up_fit(estimator)
    seconds = time.perf_counter() - began
    if seconds > COMPILING_SECONDS:
        kind = core.parse_loss(estimator.loss).kind
        log.info("made loss %r ready in %.1f s; what was compiled stays on this machine's disk", kind, seconds)


def _register(session: Session, context: ServiceContext, model: NewTrainedModel, monitor: JobMonitor) -> dict[str, Any]:
    row = TrainedModelService(session, context.artifact_store).register(model)
    return {"model_id": row.id, "progress": finished(monitor.progress())}


def _estimator(spec: TrainSpec, labels: NDArray[Any], n_jobs: int) -> Any:
    arguments = constructor_arguments(spec.model)
    if isinstance(arguments["class_weight"], dict):
        of_text = dict(zip(map(label_text, labels.tolist()), labels.tolist(), strict=True))
        arguments["class_weight"] = {of_text[text]: weight for text, weight in arguments["class_weight"].items()}
    if spec.noise.correction is not None:
        arguments["correction"] = spec.noise.correction.model_dump()
    estimator_class: Any = core.ESTIMATORS[kind_of(spec.model)]
    return estimator_class(**arguments, random_state=spec.seed, n_jobs=n_jobs)


def _shares(spec: TrainSpec) -> dict[str, float]:
    """The phases of the job; those of the fit are weighted by the number of trees they grow."""
    trees = core.ESTIMATORS[kind_of(spec.model)](**constructor_arguments(spec.model)).phases()
    growing = 1 - LOADING_SHARE - COMPILING_SHARE - SCORING_SHARE
    of_fit = {phase: growing * n / sum(trees.values()) for phase, n in trees.items()}
    return {"loading": LOADING_SHARE, "compiling": COMPILING_SHARE, **of_fit, "scoring": SCORING_SHARE}


def _training_labels(spec: TrainSpec, parts: Parts) -> _TrainingLabels:
    inject, clean = spec.noise.inject, parts.train
    if inject is None:
        return _TrainingLabels(clean.y, None, None)
    classes = parts.dataset.labels
    noisy = core.inject_noise(clean.y, inject.model_dump(), X=clean.X, random_state=spec.seed, classes=classes)
    flipped_rows = int(np.count_nonzero(noisy.flipped))
    record = {
        **inject.model_dump(),
        "flipped_rows": flipped_rows,
        "observed_rate": flipped_rows / len(noisy.flipped),
    }
    return _TrainingLabels(noisy.labels, record, _expected_rate(inject, noisy, clean.y))


def _expected_rate(inject: InjectionSpec, noisy: core.NoisyLabels, clean: NDArray[Any]) -> float:
    """The chance that a training label was made wrong: as asked where that is one number, else by class."""
    if isinstance(inject, UniformNoise | AdversarialNoise):
        return inject.rate
    return noisy.transition.noise_rate([np.count_nonzero(clean == label) for label in noisy.transition.classes])


def _metrics(fit: _Fit, parts: Parts, monitor: JobMonitor) -> dict[str, Any]:
    """Scores on the clean test part, which noise never touches, and on the training part as it was fitted."""
    monitor.begin("scoring", 2, "parts")
    metrics = {"train_noisy": core.evaluate(fit.estimator, parts.train.X, fit.training.labels)}
    monitor.advance(1)
    if parts.test is not None:
        metrics["test"] = core.evaluate(fit.estimator, parts.test.X, parts.test.y)
    return metrics


def feature_schema(dataset: DatasetRow, classes: NDArray[Any]) -> dict[str, Any]:
    """What a prediction needs to know of the training data: features in order, categories, labels."""
    features = [{key: feature[key] for key in ("name", "kind", "categories")} for feature in dataset.features]
    return {"target": dataset.target, "classes": classes.tolist(), "features": features}
