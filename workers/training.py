"""Body of a training job: load the rows, inject noise, fit, score, and store the model file.

With cross-validation, noise, fit and scores are repeated for each fold; the model that is stored is then fitted on all
rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from numpy.typing import NDArray
from sqlalchemy.orm import Session

import core
from app.context import ServiceContext
from app.datasets.records import DatasetRecord
from app.jobs.lease import Claim
from app.requests.evaluation_specs import CrossValidation
from app.trained_models.records import NewTrainedModel
from app.trained_models.service import TrainedModelService
from app.training.specs import TrainSpec
from core import service_api
from workers.estimators import compile_kernels, fit_work
from workers.fitting import FittedModel, Fitter, correction_argument
from workers.monitor import JobMonitor
from workers.progress_weights import PREPARATION, weights_after_preparation, with_scoring
from workers.row_split import RowSplit, load_row_split

SCORING_FRACTION = 0.05
#: Values of the keys that the JSON of a column leaves out.
_EVERY_KEY = {"categories": None, "is_boolean": False, "reading": None}


@dataclass(frozen=True)
class TrainingResult:
    """Trained model whose file is in the store."""

    model: NewTrainedModel

    def store(self, session: Session, context: ServiceContext) -> dict[str, Any]:
        """Register the model under the next version of its name."""
        return {"model_id": TrainedModelService(session, context.artifact_store).register(self.model).id}


def train(context: ServiceContext, claim: Claim, monitor: JobMonitor) -> TrainingResult:
    """Fit the model that a `TrainSpec` asks for and put its file into the store."""
    spec = TrainSpec.model_validate(claim.request)
    monitor.plan(_phase_weights(spec))
    monitor.begin("loading", 1, "data sets")
    split = load_row_split(context, spec)
    fitter = Fitter(spec, split.dataset.labels, context.settings.jobs.threads_per_job)
    compile_kernels(fitter.estimator(spec.seed), monitor)
    fold_scores = _fold_scores(fitter, split, monitor)
    fit = fitter.fit(split.train, spec.seed, monitor)
    metrics = _aggregated(fold_scores) if fold_scores else fit.scores(split.test, fitter.classes, monitor)
    summary = fit.estimator.fit_summary(fit.training.noise_rate)
    file = context.artifact_store.put(
        lambda path: core.save(fit.estimator, path, schema={"target": split.dataset.target})
    )
    return TrainingResult(
        NewTrainedModel(
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
        )
    )


def _fold_scores(fitter: Fitter, split: RowSplit, monitor: JobMonitor) -> list[dict[str, Any]]:
    """Fit on the noisy training rows of each fold, and score these and the clean test rows."""
    scores = []
    for number, fold in enumerate(split.folds, start=1):
        fold_monitor = service_api.step_monitor(monitor, service_api.fold_prefix(number, len(split.folds)))
        fit = fitter.fit(split.train.take(fold.train_rows), fold.seed, fold_monitor)
        scores.append(fit.scores(split.train.take(fold.test_rows), fitter.classes, fold_monitor))
    return scores


def _aggregated(fold_scores: list[dict[str, Any]]) -> dict[str, Any]:
    """Return mean and standard deviation over the folds, for training and test rows, with the scores of each fold."""
    metrics: dict[str, Any] = {}
    for rows in ("train_noisy", "test"):
        metrics[rows], metrics[f"{rows}_sd"] = core.spread_of_scores([scores[rows] for scores in fold_scores])
    return {**metrics, "folds": fold_scores}


def _noise_record(fit: FittedModel, correction: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "injected": fit.training.injected,
        "correction": correction,
        "estimated": _noise_estimate(fit.estimator),
    }


def _noise_estimate(estimator: Any) -> dict[str, Any] | None:
    """Return the noise that the fit estimated from its labels, or None if it was not asked to."""
    estimate: core.TransitionEstimate | None = getattr(estimator, "noise_estimate_", None)
    return estimate and {
        "rate": estimate.noise_rate,
        "standard_error": estimate.noise_rate_error,
        "transition": estimate.transition.to_json(),
    }


def _phase_weights(spec: TrainSpec) -> dict[str, float]:
    """Return the phases of the job; those of a fit are weighted by the trees they grow, and fits by their rows."""
    n_folds = spec.evaluation.folds if isinstance(spec.evaluation, CrossValidation) else 0
    folds = range(1, n_folds + 1)
    fits = {service_api.fold_prefix(number, n_folds): 1 - 1 / n_folds for number in folds} | {"": 1.0}
    work = with_scoring(fit_work(spec.model, spec.noise.inject, **correction_argument(spec)), SCORING_FRACTION)
    weights = dict(PREPARATION)
    for prefix, n_rows in fits.items():
        fit_fraction = n_rows / sum(fits.values())
        weights |= {prefix + phase: fit_fraction * w for phase, w in weights_after_preparation(work).items()}
    if n_folds:  # The last fit has no held-out rows to score.
        del weights["scoring"]
    return weights


def feature_schema(dataset: DatasetRecord, columns: Sequence[core.Column], classes: NDArray[Any]) -> dict[str, Any]:
    """Return what the service tells about the inputs of a model: its features in order, the target and the labels."""
    features = [_EVERY_KEY | column.to_json() for column in columns]
    return {"target": dataset.target, "classes": classes.tolist(), "features": features}
