"""Jobs that would not fit into memory are refused before they are queued; the usual ones are not."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.audits.specs import AuditSpec
from app.context import ServiceContext
from app.jobs.service import JobService, submit
from app.jobs.states import JobKind, JobState
from app.jobs.submission import NewJob
from app.requests.errors import JobTooLarge
from app.requests.job_memory import JobMemory, audit_memory, cell_memory, training_memory
from app.settings import Limits
from app.storage.database import writing
from app.sweeps.specs import SweepSpec
from app.training.specs import TrainRequest
from app.training.submission import TrainingSubmission
from tests.factories import job, make_dataset, queued
from tests.job_attempts import attempt_job
from tests.workers.training_runs import made, store
from workers.auditing import audit
from workers.job_body import JobBody
from workers.sweeping import sweep_cell
from workers.training import train

GIBIBYTE = 2**30
LIMITS = Limits(job_threads=4)
SMALL_MACHINE = int(0.8 * 8 * GIBIBYTE)
SOME_ID = "00000000-0000-0000-0000-000000000000"

TREE = {"kind": "tree"}
ON_TEST_DATASET = {"kind": "dataset", "dataset_id": SOME_ID}
TRAIN = TrainRequest.model_validate({"dataset_id": SOME_ID, "model": TREE})


def dataset(n_rows: int, n_features: int, counts: list[int] | None = None, n_unlabeled: int = 0) -> Any:
    """Return the size of a data set with `n_rows` labels; its classes have equally many rows by default."""
    classes = [{"label": k, "count": count} for k, count in enumerate(counts or [n_rows // 2] * 2)]
    return SimpleNamespace(
        n_rows=n_rows + n_unlabeled, n_labeled=n_rows, classes=classes, used_features=[None] * n_features, labels=None
    )


def estimate(data: Any, model: dict[str, Any], test_data: Any = None, **fields: Any) -> JobMemory:
    request = TrainRequest.model_validate({"dataset_id": SOME_ID, "model": model, **fields})
    return training_memory(request.model, request.noise, request.evaluation, data, test_data, LIMITS)


@pytest.mark.parametrize(
    ("data", "model"),
    [
        (dataset(1_797, 64, [180] * 10), {"kind": "forest"}),
        (dataset(1_000_000, 30), {"kind": "forest"}),
        (dataset(1_000_000, 30), {"kind": "tree"}),
        (dataset(1_000_000, 30), {"kind": "rmboost", "n_rounds": 100}),
        (dataset(5_000_000, 10), {"kind": "forest", "max_depth": 12}),
        (dataset(100_000, 30, [100] * 1000), {"kind": "forest", "max_depth": 8, "n_estimators": 50}),
    ],
    ids=str,
)
def test_usual_jobs_fit_on_a_small_machine(data: Any, model: dict[str, Any]) -> None:
    assert estimate(data, model).n_bytes < SMALL_MACHINE


def test_ten_thousand_full_trees_on_a_million_rows_do_not_fit() -> None:
    memory = estimate(dataset(1_000_000, 30), {"kind": "forest", "n_estimators": 10_000})
    assert 200 * GIBIBYTE < memory.n_bytes < 1000 * GIBIBYTE
    assert memory.largest_part.startswith("10,000 trees of up to ")
    with pytest.raises(JobTooLarge, match=r"mostly for 10,000 trees of up to .* allows 6\.4 GiB") as refused:
        memory.check(SMALL_MACHINE, "/model")
    assert refused.value.errors[0].pointer == "/model"


@pytest.mark.parametrize(
    ("small", "large"),
    [
        ({"max_depth": 6}, {"max_depth": 12}),
        ({"max_leaf_nodes": 100}, {"max_leaf_nodes": 1000}),
        ({"min_samples_leaf": 100}, {"min_samples_leaf": 10}),
        ({"n_estimators": 100}, {"n_estimators": 200}),
    ],
    ids=str,
)
def test_each_limit_of_a_tree_counts(small: dict[str, Any], large: dict[str, Any]) -> None:
    data = dataset(1_000_000, 5)
    sizes = [estimate(data, {"kind": "forest", "n_estimators": 200, **one}).n_bytes for one in (small, large)]
    assert sizes[0] < sizes[1]


def test_the_largest_part_is_named() -> None:
    many_classes = dataset(200_000, 5, [200] * 1000)
    assert "1,000 classes" in estimate(many_classes, {"kind": "tree", "max_depth": 3}).largest_part
    wide = estimate(dataset(1_000_000, 5000), {"kind": "tree", "max_depth": 3})
    assert "5,000 features" in wide.largest_part or "growing" in wide.largest_part


def test_audits_and_sweeps_are_estimated() -> None:
    data, forest = dataset(1_000_000, 30), {"kind": "forest", "n_estimators": 10_000}
    spec = AuditSpec.model_validate({"dataset_id": SOME_ID, "model": forest})
    assert audit_memory(spec.model, None, data, LIMITS).n_bytes > 100 * GIBIBYTE
    by_folds = audit_memory(spec.model, 5, data, LIMITS).n_bytes
    assert by_folds > 200 * GIBIBYTE
    noise = [{"kind": "adversarial", "rate": 0.1}]
    sweep = SweepSpec.model_validate({"dataset_id": SOME_ID, "models": [forest], "noise": noise})
    assert cell_memory(sweep.models[0], sweep.noise[0], 0.2, data, LIMITS).n_bytes > 100 * GIBIBYTE


def test_a_large_test_data_set_counts() -> None:
    data, counts = dataset(3_000, 5, [3] * 1000), [2_000] * 1000
    memory = estimate(data, TREE, dataset(2_000_000, 5, counts), evaluation=ON_TEST_DATASET)
    assert memory.n_bytes > 2_000_000 * 1000 * 8
    assert memory.is_for_test_data
    assert "1,000 classes on 2,000,000 rows of the test data set" in memory.largest_part
    small = estimate(data, TREE, dataset(1_000, 5), evaluation=ON_TEST_DATASET)
    assert small.n_bytes < GIBIBYTE
    assert not small.is_for_test_data


def test_a_wide_test_data_set_counts_with_its_unlabeled_rows() -> None:
    tests = [dataset(1_000, 500, n_unlabeled=n_unlabeled) for n_unlabeled in (0, 1_000_000)]
    few, many = [estimate(dataset(3_000, 500), TREE, test, evaluation=ON_TEST_DATASET) for test in tests]
    assert many.n_bytes > few.n_bytes + 2 * 1_000_000 * 500 * 8
    assert many.largest_part == "the test data set with 1,001,000 rows of 500 features"


def test_rows_that_are_held_out_count() -> None:
    data = dataset(2_000_000, 5, [2_000] * 1000)
    memory = estimate(data, TREE, evaluation={"kind": "holdout", "test_fraction": 0.998})
    assert memory.n_bytes > 0.998 * 2_000_000 * 1000 * 8


def test_rows_without_a_label_count() -> None:
    model, noise, fields = TRAIN.model, {"kind": "uniform", "rate": 0.1}, {"dataset_id": SOME_ID}
    spec = AuditSpec.model_validate(fields)
    sweep = SweepSpec.model_validate({**fields, "models": [TREE], "noise": [noise]})
    few, many = dataset(2_000, 100), dataset(2_000, 100, n_unlabeled=5_000_000)
    for memory in (
        lambda data: training_memory(model, TRAIN.noise, TRAIN.evaluation, data, None, LIMITS),
        lambda data: audit_memory(spec.model, None, data, LIMITS),
        lambda data: audit_memory(spec.model, 5, data, LIMITS),
        lambda data: cell_memory(model, sweep.noise[0], 0.2, data, LIMITS),
    ):
        assert memory(many).n_bytes > memory(few).n_bytes + 5_000_000 * 100 * 8
        assert "5,002,000 rows of 100 features" in memory(many).largest_part


def test_a_smaller_worker_names_its_own_limit(context: ServiceContext) -> None:
    """The API may run on a larger machine than the worker."""
    body = TrainRequest.model_validate({"dataset_id": store(context, made()), "model": {"kind": "tree"}})
    submission = TrainingSubmission(body, context.sessions, context.dataset_store, LIMITS)
    job_id = submit(context.sessions, LIMITS, submission, None).id
    settings = context.settings.model_copy(update={"limits": Limits(max_job_bytes=2**20)})
    attempt_job(replace(context, settings=settings), job_id, train)
    row = job(context, job_id)
    assert (row.state, row.error_code) == (JobState.FAILED, "job_too_large")
    assert "allows 1.0 MiB" in str(row.error_message)


@pytest.mark.parametrize(
    ("kind", "body", "request_fields"),
    [
        (JobKind.TRAIN, train, {**TRAIN.model_dump(mode="json", exclude={"data"}), "name": "made"}),
        (JobKind.AUDIT, audit, AuditSpec.model_validate({"dataset_id": SOME_ID}).to_json()),
        (
            JobKind.SWEEP_CELL,
            sweep_cell,
            {"model": TREE, "noise": {"kind": "uniform", "rate": 0.1}, "test_fraction": 0.2, "repeats": 1, "seed": 0},
        ),
    ],
    ids=lambda value: value if isinstance(value, JobKind) else "",
)
def test_a_worker_refuses_before_it_loads_any_row(
    context: ServiceContext, kind: JobKind, body: JobBody, request_fields: dict[str, Any]
) -> None:
    """The file of the data set is missing, which loading would report."""
    dataset_id = make_dataset(context, n_rows=2_000_000_000, n_labeled=100)
    limits = Limits(max_job_bytes=GIBIBYTE)
    with writing(context.sessions) as session:
        new = NewJob(kind, {**request_fields, "dataset_id": str(dataset_id)}, [dataset_id])
        job_id = queued(JobService(session, limits), new).job.id
    settings = context.settings.model_copy(update={"limits": limits})
    attempt_job(replace(context, settings=settings), job_id, body)
    row = job(context, job_id)
    assert (row.state, row.error_code) == (JobState.FAILED, "job_too_large")
    assert "2,000,000,000 rows of 2 features" in str(row.error_message)


def test_a_worker_refuses_a_large_test_data_set_before_it_loads_any_row(context: ServiceContext) -> None:
    dataset_id, test_id = make_dataset(context), make_dataset(context, n_rows=2_000_000_000)
    evaluation = {"kind": "dataset", "dataset_id": test_id}
    request = TrainRequest.model_validate({"dataset_id": dataset_id, "model": TREE, "evaluation": evaluation})
    no_limit = Limits(max_job_bytes=2**50)
    submission = TrainingSubmission(request, context.sessions, context.dataset_store, no_limit)
    job_id = submit(context.sessions, no_limit, submission, None).id
    settings = context.settings.model_copy(update={"limits": Limits(max_job_bytes=GIBIBYTE)})
    attempt_job(replace(context, settings=settings), job_id, train)
    assert job(context, job_id).error_code == "job_too_large"


def test_a_test_data_set_that_is_too_large_is_named(client: TestClient) -> None:
    context = client.app.state.context
    dataset_id, test_id = make_dataset(context), make_dataset(context, n_rows=2_000_000_000)
    evaluation = {"kind": "dataset", "dataset_id": str(test_id)}
    body = {"dataset_id": str(dataset_id), "model": TREE, "evaluation": evaluation}
    limits = context.settings.limits.model_copy(update={"max_job_bytes": 4 * GIBIBYTE})
    object.__setattr__(context, "settings", context.settings.model_copy(update={"limits": limits}))
    answer = client.post("/train", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "job_too_large")
    [error] = answer.json()["errors"]
    assert error["pointer"] == "/evaluation/dataset_id"
    assert "2,000,000,000 rows of the test data set" in error["detail"]
    assert "allows 4.0 GiB" in error["detail"]
    assert client.get("/jobs").json()["items"] == []


@pytest.mark.parametrize(
    ("path", "fields", "pointer"),
    [
        ("/train", {"model": {"kind": "tree"}}, "/model"),
        ("/audits", {}, "/model"),
        ("/sweeps", {"models": [{"kind": "tree"}], "noise": [{"kind": "uniform", "rate": 0.1}]}, "/models/0"),
    ],
)
def test_routes_refuse_jobs_that_are_too_large(
    client: TestClient, path: str, fields: dict[str, Any], pointer: str
) -> None:
    dataset_id = str(make_dataset(client.app.state.context))
    context = client.app.state.context
    limits = context.settings.limits.model_copy(update={"max_job_bytes": 2**20})
    object.__setattr__(context, "settings", context.settings.model_copy(update={"limits": limits}))
    answer = client.post(path, json={"dataset_id": dataset_id, **fields})
    assert (answer.status_code, answer.json()["code"]) == (422, "job_too_large")
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert client.get("/jobs").json()["items"] == []
