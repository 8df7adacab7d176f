"""Submission of training jobs; requests that cannot succeed are refused before a job is queued."""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from app.datasets.records import DatasetRecord
from app.datasets.service import DatasetService
from app.jobs.states import JobKind
from app.jobs.submission import JobSubmission, NewJob
from app.requests.compatibility import evaluation_problems, model_problems
from app.requests.errors import InvalidTrainingRequest
from app.requests.evaluation_specs import TestDataset
from app.requests.noise_compatibility import check_noise_request, unweighted_class_problems
from app.settings import Limits
from app.training.dataset_match import mismatch
from app.training.errors import IncompatibleTestDataset
from app.training.specs import TrainRequest, TrainSpec


class TrainingSubmission(JobSubmission):
    """Request for a training job.

    `prepare` raises DatasetNotFound, InvalidTrainingRequest, InvalidNoiseRequest, IncompatibleTestDataset, and for
    inline data the errors of an upload.
    """

    def __init__(self, request: TrainRequest, datasets: DatasetService, limits: Limits) -> None:
        self._request = request
        self._datasets = datasets
        self._limits = limits

    def body(self) -> dict[str, Any]:
        return self._request.model_dump(mode="json")

    @contextmanager
    def prepare(self) -> Iterator[NewJob]:
        with self._dataset() as dataset:
            spec = self._spec(dataset)
            self._check(spec, dataset)
            dataset_ids = [dataset.id]
            if isinstance(spec.evaluation, TestDataset):
                dataset_ids.append(spec.evaluation.dataset_id)
            yield NewJob(JobKind.TRAIN, spec.to_json(), dataset_ids)

    def _dataset(self) -> AbstractContextManager[DatasetRecord]:
        """Return the data set of the request; inline data is stored only if the block does not raise."""
        request = self._request
        if request.data is not None:
            return self._datasets.storing_columns(name=request.name or "inline", **request.data.model_dump())
        assert request.dataset_id is not None, "the request's own validation requires one of the two"
        return nullcontext(self._datasets.named_at("/dataset_id", request.dataset_id))

    def _spec(self, dataset: DatasetRecord) -> TrainSpec:
        request = self._request
        return TrainSpec(
            name=request.name or default_name(dataset.name, request.model.kind),
            dataset_id=dataset.id,
            model=request.model,
            noise=request.noise,
            evaluation=request.evaluation,
            seed=request.seed,
        )

    def _check(self, spec: TrainSpec, dataset: DatasetRecord) -> None:
        check_noise_request(spec.noise, spec.model, spec.evaluation, dataset)
        if isinstance(spec.evaluation, TestDataset):
            self._check_test_dataset(spec.evaluation, dataset)
        problems = [
            *model_problems(spec.model, dataset, self._limits),
            *unweighted_class_problems(spec.noise, spec.model, dataset),
            *evaluation_problems(spec.evaluation, dataset),
        ]
        if problems:
            raise InvalidTrainingRequest.about(problems)

    def _check_test_dataset(self, evaluation: TestDataset, dataset: DatasetRecord) -> None:
        test = self._datasets.named_at("/evaluation/dataset_id", evaluation.dataset_id)
        if reason := mismatch(dataset, test):
            raise IncompatibleTestDataset.at("/evaluation/dataset_id", reason)


def default_name(dataset_name: str, kind: str) -> str:
    """Return a valid model name made from the name of a data set, which may contain any characters."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", dataset_name).strip("-._")[:80]
    return f"{stem or 'model'}-{kind}"
