"""Submission of training jobs; requests that cannot succeed are refused before a job is queued."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from sqlalchemy.orm import Session

from app.datasets.records import DatasetRecord
from app.datasets.registration import StagedDataset, staged_columns
from app.datasets.service import dataset_named_at
from app.datasets.store import DatasetStore
from app.jobs.states import JobKind
from app.jobs.submission import JobSubmission, NewJob, StoreInputs
from app.requests.compatibility import evaluation_problems, model_problems
from app.requests.errors import InvalidTrainingRequest
from app.requests.evaluation_specs import TestDataset
from app.requests.job_memory import training_memory
from app.requests.noise_compatibility import check_noise_request, unweighted_class_problems
from app.settings import Limits
from app.storage.database import SessionFactory
from app.training.dataset_match import mismatch
from app.training.errors import IncompatibleTestDataset
from app.training.specs import TrainRequest, TrainSpec

_TEST_DATASET = "/evaluation/dataset_id"


class TrainingSubmission(JobSubmission):
    """Request for a training job.

    `prepare` raises DatasetNotFound, InvalidTrainingRequest, InvalidNoiseRequest, IncompatibleTestDataset, JobTooLarge,
    and for inline data the errors of an upload.
    """

    def __init__(self, request: TrainRequest, sessions: SessionFactory, store: DatasetStore, limits: Limits) -> None:
        self._request = request
        self._sessions = sessions
        self._store = store
        self._limits = limits

    def body(self) -> dict[str, Any]:
        return self._request.model_dump(mode="json")

    @contextmanager
    def prepare(self) -> Iterator[StoreInputs]:
        request = self._request
        if request.data is not None:
            columns = request.data.model_dump()
            name = request.name or "inline"
            with staged_columns(self._sessions, self._store, self._limits, name=name, **columns) as staged:
                yield self._storing_inline(staged)
            return
        assert request.dataset_id is not None, "the request's own validation requires one of the two"
        dataset = dataset_named_at(self._sessions, "/dataset_id", request.dataset_id)
        new = self._new_job(dataset, self._checked(dataset))
        yield lambda session: nullcontext(new)

    def _storing_inline(self, staged: StagedDataset) -> StoreInputs:
        expected, test = staged.record, self._checked(staged.record)
        new = self._new_job(expected, test)

        @contextmanager
        def store(session: Session) -> Iterator[NewJob]:
            with staged.registered(session, self._store) as stored:
                # Another upload of the same content may have been stored since; its id and name then differ.
                same = stored.dataset.id == expected.id
                yield new if same else self._new_job(stored.dataset, test)

        return store

    def _checked(self, dataset: DatasetRecord) -> DatasetRecord | None:
        """Check the request against its data sets and return the one to score on. Raises the errors of `prepare`."""
        request = self._request
        check_noise_request(request.noise, request.model, request.evaluation, dataset)
        test = self._test_dataset(dataset)
        self._check(dataset, test)
        return test

    def _new_job(self, dataset: DatasetRecord, test: DatasetRecord | None) -> NewJob:
        dataset_ids = [one.id for one in (dataset, test) if one]
        return NewJob(JobKind.TRAIN, self._spec(dataset, test).to_json(), dataset_ids)

    def _spec(self, dataset: DatasetRecord, test: DatasetRecord | None) -> TrainSpec:
        """Return what a worker reads: data sets by their ids, as a name may stand for another one by then."""
        request = self._request
        evaluation = request.evaluation if test is None else TestDataset(kind="dataset", dataset_id=test.id)
        return TrainSpec(
            name=request.name or default_name(dataset.name, request.model.kind),
            dataset_id=dataset.id,
            model=request.model,
            noise=request.noise,
            evaluation=evaluation,
            seed=request.seed,
        )

    def _check(self, dataset: DatasetRecord, test: DatasetRecord | None) -> None:
        request = self._request
        problems = [
            *model_problems(request.model, dataset, self._limits),
            *unweighted_class_problems(request.noise, request.model, dataset),
            *evaluation_problems(request.evaluation, dataset),
        ]
        if problems:
            raise InvalidTrainingRequest.about(problems)
        memory = training_memory(request.model, request.noise, request.evaluation, dataset, test, self._limits)
        memory.check(self._limits.max_job_bytes, _TEST_DATASET if memory.is_for_test_data else "/model")

    def _test_dataset(self, dataset: DatasetRecord) -> DatasetRecord | None:
        """Return the data set to score on, or None. Raises DatasetNotFound, IncompatibleTestDataset."""
        evaluation = self._request.evaluation
        if not isinstance(evaluation, TestDataset):
            return None
        test = dataset_named_at(self._sessions, _TEST_DATASET, evaluation.dataset_id)
        if reason := mismatch(dataset, test):
            raise IncompatibleTestDataset.at(_TEST_DATASET, reason)
        return test


def default_name(dataset_name: str, kind: str) -> str:
    """Return a valid model name made from the name of a data set, which may contain any characters."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", dataset_name).strip("-._")[:80]
    return f"{stem or 'model'}-{kind}"
