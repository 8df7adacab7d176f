"""Body of a training job: load the rows, inject noise, fit, score, and store the model file.

With cross-validation, noise, fit and scores are repeated for each fold; the model that is stored is then fitted on all
rows.
"""

from collections.abc import Iterator, Sequence
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
from app.requests.evaluation_specs import CrossValidation, EvaluationSpec, Holdout, TestDataset
from app.storage.content_store import StagedFile
from app.storage.json_text import with_serialized_fields
from app.trained_models.records import NewTrainedModel
from app.trained_models.service import TrainedModelService
from app.training.specs import TrainSpec
from core import service_api
from workers.corrected_scores import CorrectedScorer, TestPredictions, noise_forests, scoring_work
from workers.dataset_rows import LabeledRows
from workers.estimators import compile_kernels, fit_work
from workers.fitting import FittedModel, Fitter, correction_argument
from workers.full_disk import when_it_fits
from workers.importances import importance_work, measured_importances
from workers.monitor import JobMonitor
from workers.progress_weights import PREPARATION, weights_after_preparation, with_scoring
from workers.row_split import RowSplit, load_row_split

SCORING_FRACTION = 0.05
#: Values of the keys that the JSON of a column leaves out.
_EVERY_KEY = {"categories": None, "is_boolean": False, "reading": None}


@dataclass(frozen=True)
class TrainingResult:
    """Trained model and its file."""

    model: NewTrainedModel
    files: tuple[StagedFile]

    def store(self, session: Session, context: ServiceContext) -> dict[str, Any]:
        """Register the model under the next version of its name."""
        models = TrainedModelService(session, context.artifact_store)
        return {"model_id": models.register(self.model, *self.files).id}


def train(context: ServiceContext, claim: Claim, monitor: JobMonitor) -> TrainingResult:
    """Fit the model that a `TrainSpec` asks for and write its file."""
    spec = TrainSpec.model_validate(claim.request)
    monitor.plan(_phase_weights(spec))
    monitor.begin("loading", 1, "data sets")
    split = load_row_split(context, spec)
    fitter = Fitter(spec, split.dataset.labels, context.settings.jobs.threads_per_job)
    compile_kernels(split.train.X, monitor, fitter.estimator(spec.seed), *noise_forests(spec))
    fit, metrics = _fit_and_score(fitter, split, monitor)
    importances = measured_importances(spec, fit.estimator, split.test, monitor)
    summary = fit.estimator.fit_summary(fit.training.noise_rate)
    schema = {"target": split.dataset.target}
    stage = partial(context.artifact_store.stage, lambda path: core.save(fit.estimator, path, schema=schema))
    file = when_it_fits(stage, monitor)
    model = NewTrainedModel(
        name=spec.name,
        kind=spec.model.kind,
        parameters={key: value for key, value in claim.request["model"].items() if key != "kind"},
        seed=spec.seed,
        dataset_id=spec.dataset_id,
        data_sha256=split.dataset.sha256,
        code_version=version("bristlecone"),
        fit_seconds=fit.seconds,
        size_bytes=file.size_bytes,
        artifact_sha256=file.sha256,
        metrics=metrics | summary.metrics,
        feature_schema=feature_schema(split.dataset, split.train.X.columns, fit.estimator.classes_),
        noise=_noise_record(fit, claim.request["noise"].get("correction")),
        fitted=summary.fitted,
        certificate=summary.certificate,
        importances=importances,
        evaluation=_evaluation_record(spec.evaluation, split),
    )
    return TrainingResult(with_serialized_fields(model), (file,))


def _fit_and_score(fitter: Fitter, split: RowSplit, monitor: JobMonitor) -> tuple[FittedModel, dict[str, Any]]:
    """Return the model of all training rows and the scores of the job, those of folds if it has some."""
    folds = list(_fitted_folds(fitter, split, monitor))
    fit = fitter.fit(split.train, fitter.spec.seed, monitor)
    metrics = _corrected(fitter, split, folds, fit, monitor)
    return fit, metrics | (_aggregated(folds) if folds else fit.scores(split.test, fitter.classes, monitor))


@dataclass(frozen=True)
class FittedFold:
    """Scores of the model of a fold, and its predictions (row,) of the test rows, as codes of the job's classes."""

    scores: dict[str, Any]
    test_rows: NDArray[np.int64]
    predicted: NDArray[np.int64]


def _fitted_folds(fitter: Fitter, split: RowSplit, monitor: JobMonitor) -> Iterator[FittedFold]:
    """Fit on the noisy training rows of each fold, and score these and the test rows with their labels as uploaded."""
    for number, fold in enumerate(split.folds, start=1):
        fold_monitor = service_api.step_monitor(monitor, service_api.fold_prefix(number, len(split.folds)))
        yield _fitted_fold(fitter, split.train, fold, fold_monitor)


def _fitted_fold(fitter: Fitter, rows: LabeledRows, fold: core.SeededSplit, monitor: core.FitMonitor) -> FittedFold:
    """Fit and score one fold. Its model is freed before that of the next fold grows."""
    fit = fitter.fit(rows.take(fold.train_rows), fold.seed, monitor)
    test = rows.take(fold.test_rows)
    scores = fit.scores(test, fitter.classes, monitor)
    return FittedFold(scores, fold.test_rows, fit.estimator.predict_encoded(test.X).among(fitter.classes).codes)


def _corrected(
    fitter: Fitter, split: RowSplit, folds: list[FittedFold], fit: FittedModel, monitor: JobMonitor
) -> dict[str, Any]:
    """Return the scores on the true labels of the test rows, or nothing without test rows."""
    if folds:
        predicted = np.concatenate([fold.predicted for fold in folds])
        order = np.argsort(np.concatenate([fold.test_rows for fold in folds]))
        test = TestPredictions(core.EncodedLabels(fitter.classes, predicted[order]), None)
    elif split.test is not None:
        test = TestPredictions(fit.estimator.predict_encoded(split.test.X), split.test)
    else:
        return {}
    scorer = CorrectedScorer(fitter.spec, fitter.classes, fitter.n_jobs)
    return {"test_corrected": scorer.score(split, test, monitor)}


def _aggregated(folds: list[FittedFold]) -> dict[str, Any]:
    """Return mean and standard deviation over the folds, for training and test rows, with the scores of each fold."""
    fold_scores, metrics = [fold.scores for fold in folds], dict[str, Any]()
    for rows in ("train_noisy", "test"):
        metrics[rows], metrics[f"{rows}_sd"] = core.spread_of_scores([scores[rows] for scores in fold_scores])
    return {**metrics, "folds": fold_scores}


def _evaluation_record(evaluation: EvaluationSpec, split: RowSplit) -> dict[str, Any]:
    """Return the evaluation, with the digest of a test data set, which can be deleted before the model."""
    digest = {"data_sha256": split.test_dataset.sha256} if split.test_dataset else {}
    return evaluation.model_dump(mode="json") | digest


def _noise_record(fit: FittedModel, correction: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "injected": fit.training.injected,
        "correction": correction,
        "estimated": _noise_estimate(fit.estimator),
    }


def _noise_estimate(estimator: Any) -> dict[str, Any] | None:
    """Return the noise that the fit estimated from its labels, or None without an estimate.

    `auto` estimates it among the classes that have enough rows.
    """
    estimate: core.TransitionEstimate | None = getattr(estimator, "noise_estimate_", None)
    return estimate and {
        "rate": estimate.noise_rate,
        "standard_error": estimate.noise_rate_error,
        "transition": estimate.transition.extended(estimator.classes_).to_json(),
    }


def _phase_weights(spec: TrainSpec) -> dict[str, float]:
    """Return the phases of the job; those of a fit are weighted by the trees they grow, and fits by their rows."""
    n_folds = spec.evaluation.folds if isinstance(spec.evaluation, CrossValidation) else 0
    fit = fit_work(spec.model, spec.noise.inject, **correction_argument(spec))
    scored = with_scoring(fit, SCORING_FRACTION)
    prefixes = [service_api.fold_prefix(number, n_folds) for number in range(1, n_folds + 1)]
    work = {prefix + phase: (1 - 1 / n_folds) * amount for prefix in prefixes for phase, amount in scored.items()}
    work |= fit | scoring_work(spec)
    if not n_folds:  # With folds, the last fit has no held-out rows to score.
        work["scoring"] = scored["scoring"]
    if isinstance(spec.evaluation, Holdout | TestDataset):
        work |= importance_work(sum(fit.values()))
    return PREPARATION | weights_after_preparation(work)


def feature_schema(dataset: DatasetRecord, columns: Sequence[core.Column], classes: NDArray[Any]) -> dict[str, Any]:
    """Return what the service tells about the inputs of a model: its features in order, the target and the labels.

    left_out: columns of the file that are not features, and that rows to predict may have.
    """
    features = [_EVERY_KEY | column.to_json() for column in columns]
    return {
        "target": dataset.target,
        "classes": classes.tolist(),
        "features": features,
        "left_out": dataset.left_out,
    }
