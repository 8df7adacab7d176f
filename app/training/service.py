"""Turns a request to train into a job, after everything that can be known to fail has been refused."""

import re
from contextlib import AbstractContextManager, nullcontext

from app.datasets.records import DatasetRecord
from app.datasets.service import DatasetService
from app.errors import some_of
from app.jobs.errors import IncompatibleTestDataset, InvalidTrainingRequest
from app.jobs.records import JobRecord
from app.jobs.service import JobService
from app.jobs.states import JobKind
from app.jobs.submission import NewJob
from app.requests.compatibility import unfit_evaluation, unfit_model
from app.requests.estimator_specs import kind_of
from app.requests.job_specs import TestDataset, TrainSpec
from app.requests.noise_compatibility import classes_without_weight, refuse_unfit_noise
from app.settings import Limits
from app.training.schemas import TrainRequest


class TrainingService:
    def __init__(self, datasets: DatasetService, jobs: JobService, limits: Limits) -> None:
        self._datasets = datasets
        self._jobs = jobs
        self._limits = limits

    def submit(self, request: TrainRequest, idempotency_key: str | None) -> JobRecord:
        """Queue a training job, or give back the one that this key has made already.

        Raises:
            DatasetNotFound, InvalidTrainingRequest, InvalidNoise, IncompatibleTestDataset, TooManyQueuedJobs,
            IdempotencyKeyReused.
        """
        asked = request.model_dump(mode="json")
        # First of all: the key holds although the data set of the job may be gone by now.
        repeated = self._jobs.repeated(idempotency_key, asked)
        if repeated is not None:
            return repeated
        with self._dataset(request) as dataset:
            spec = self._fitting(request, dataset)
            needed = [dataset.id]
            if isinstance(spec.evaluation, TestDataset):
                needed.append(spec.evaluation.dataset_id)
            return self._jobs.queue(NewJob(JobKind.TRAIN, spec.stored(), needed), idempotency_key, asked).job

    def _fitting(self, request: TrainRequest, dataset: DatasetRecord) -> TrainSpec:
        """The request with all defaults, once it is known to fit the data set."""
        spec = TrainSpec(
            name=request.name or default_name(dataset.name, kind_of(request.model)),
            dataset_id=dataset.id,
            model=request.model,
            noise=request.noise,
            evaluation=request.evaluation,
            seed=request.seed,
        )
        self._refuse_what_does_not_fit(spec, dataset)
        return spec

    def _dataset(self, request: TrainRequest) -> AbstractContextManager[DatasetRecord]:
        """The data set of the request; inline data stays stored only when the block raises nothing."""
        if request.data is not None:
            return self._datasets.storing_columns(request.data.columns, request.data.target, request.name or "inline")
        assert request.dataset_id is not None, "the request's own validation asks for one of both"
        return nullcontext(self._datasets.named_at("/dataset_id", request.dataset_id))

    def _refuse_what_does_not_fit(self, spec: TrainSpec, dataset: DatasetRecord) -> None:
        refuse_unfit_noise(spec, dataset)
        if isinstance(spec.evaluation, TestDataset):
            self._refuse_other_columns(spec.evaluation, dataset)
        problems = [
            *unfit_model(spec.model, dataset, self._limits),
            *classes_without_weight(spec, dataset),
            *unfit_evaluation(spec.evaluation, dataset),
        ]
        if problems:
            raise InvalidTrainingRequest.about(problems)

    def _refuse_other_columns(self, evaluation: TestDataset, dataset: DatasetRecord) -> None:
        test = self._datasets.named_at("/evaluation/dataset_id", evaluation.dataset_id)
        reason = _difference(dataset, test)
        if reason:
            raise IncompatibleTestDataset.at("/evaluation/dataset_id", reason)


def default_name(dataset_name: str, kind: str) -> str:
    """A legal model name from a data set's, which may hold anything."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", dataset_name).strip("-._")[:80]
    return f"{stem or 'model'}-{kind}"


def _difference(dataset: DatasetRecord, test: DatasetRecord) -> str | None:
    """Why `test` cannot be used to test a model of `dataset`, or None."""
    kinds = {feature["name"]: feature["kind"] for feature in dataset.features}
    test_kinds = {feature["name"]: feature["kind"] for feature in test.features}
    missing = [name for name in kinds if name not in test_kinds]
    if missing:
        return f"the test data set lacks {some_of(missing)}; it needs every feature of the training data"
    other = [name for name in kinds if kinds[name] != test_kinds[name]]
    if other:
        name = other[0]
        return (
            f"the feature {name!r:.100} is {test_kinds[name]} in the test data set, but {kinds[name]} in training; "
            "upload the test data with `types` that say so"
        )
    labels = {entry["label"] for entry in dataset.classes}
    unknown = [entry["label"] for entry in test.classes if entry["label"] not in labels]
    if unknown:
        return f"the test data set has classes that training does not know: {some_of(unknown)}; take their rows out"
    return None
