"""Chores of pipelines with the clients: lists, reports by id, deletion, objects in place of ids, moving aliases."""

import asyncio
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import bristlecone
from bristlecone import (
    AsyncClient,
    BristleconeError,
    Client,
    DataWarning,
    JobFailed,
    NotFound,
    calls,
    predictions,
)
from tests.service_process import RunningService

TREE = {"kind": "tree", "max_depth": 3}


@pytest.fixture
def dataset(client: Client, columns: dict[str, list[Any]]) -> bristlecone.Dataset:
    return client.upload(columns, "repaid", name="chores")


@pytest.mark.parametrize("per_page", [2, 200])
def test_a_limit_is_the_number_of_items(
    client: Client, dataset: bristlecone.Dataset, monkeypatch: pytest.MonkeyPatch, per_page: int
) -> None:
    for _ in range(4):
        client.train(dataset, TREE, name="limited").wait(300)
    monkeypatch.setattr(calls, "_MOST_PER_PAGE", per_page)
    newest_first = [model.version for model in client.models(name="limited")]
    assert newest_first == sorted(newest_first, reverse=True)
    assert [model.version for model in client.models(name="limited", limit=3)] == newest_first[:3]
    assert len(client.jobs(limit=1)) == len(client.datasets(limit=1)) == 1


def test_objects_stand_for_their_ids(client: Client, dataset: bristlecone.Dataset) -> None:
    test = client.upload({"x": [1, 2] * 9, "y": ["p", "q"] * 9}, "y")
    evaluation = {"kind": "dataset", "dataset_id": test}
    training = client.upload({"x": [1, 2, 3] * 9, "y": ["p", "q", "q"] * 9}, "y")
    model = client.train(training, TREE, evaluation=evaluation).wait(300)
    assert model.evaluation == evaluation | {"dataset_id": test.id, "data_sha256": test.raw["sha256"]}
    assert client.model(model).id == model.id
    assert client.dataset(dataset).id == dataset.id
    assert client.predict(model, {"x": [1, 2]})["label"] == ["p", "q"]
    with pytest.raises(ValueError, match="is empty"):
        client.model("")
    with pytest.raises(TypeError, match=r"column 'x' is 1, which is no list of values; .*a list of dicts"):
        client.predict(model, {"x": 1})


def test_deleted_things_are_named(client: Client) -> None:
    dataset = client.upload({"x": [1, 2, 3, 4] * 9, "y": ["p", "q", "q", "q"] * 9}, "y", name="for deletion")
    job = client.train(dataset, TREE, name="deleted")
    model = job.wait(300)
    client.set_alias("deleted", model)
    client.delete_alias("deleted")
    model.delete()
    with pytest.raises(BristleconeError, match=f"the model of job {job.id} was deleted"):
        client.job(job.id).wait(300)
    job.delete()
    client.delete_dataset(dataset)
    for find in (lambda: client.job(job.id), lambda: client.dataset(dataset), lambda: client.model("@deleted")):
        with pytest.raises(NotFound):
            find()


def test_models_are_inspected_and_kept_in_order(client: Client, dataset: bristlecone.Dataset) -> None:
    shallow = client.train(dataset, TREE, name="kept").wait(300)
    deep = client.train(dataset, TREE | {"max_depth": 5}, name="kept").wait(300)
    importances = shallow.importances()
    assert sum(feature["impurity"] for feature in importances) == pytest.approx(1)
    assert shallow.importances(limit=1) == importances[:1]
    depths = [each for each in client.compare([shallow, "kept:2"])["parameters"] if each["name"] == "max_depth"]
    assert [(each["values"], each["differs"]) for each in depths] == [([3, 5], True)]
    with pytest.raises(ValueError, match=r"models is 'kept:1'; it must be a list"):
        client.compare("kept:1")
    described = shallow.describe(description="for the shop", tags=["small"])
    assert (described.raw["description"], described.raw["tags"]) == ("for the shop", ["small"])
    assert shallow.describe(tags=[]).raw["description"] == "for the shop"
    assert shallow.describe(description="").raw["description"] is None
    client.set_default("kept", 1)
    client.rename_model("kept", "renamed")
    assert client.model("renamed").id == shallow.id
    client.set_default("renamed", None)
    assert client.model("renamed").id == deep.id


def test_models_are_inspected_asynchronously(
    client: Client, service: RunningService, dataset: bristlecone.Dataset
) -> None:
    model = client.train(dataset, TREE, name="inspected").wait(300)

    async def session() -> tuple[list[dict[str, Any]], str]:
        async with AsyncClient(service.url) as asynchronous:
            await asynchronous.rename_model("inspected", "found")
            await asynchronous.set_default("found", 1)
            found = await asynchronous.model("found")
            described = await found.describe(description="for the shop")
            compared = await asynchronous.compare([found, described])
            return await found.importances(), f"{compared['models'][1]['name']}, {described.raw['description']}"

    assert asyncio.run(session()) == (model.importances(), "found, for the shop")


def test_a_sweep_that_failed_has_a_report(client: Client, dataset: bristlecone.Dataset) -> None:
    slow = {"kind": "forest", "n_estimators": 10_000}
    job = client.sweep(dataset, [TREE, slow], [{"kind": "uniform", "rate": 0.2}], repeats=2)
    while client.sweep_report(job.id).rows()[0]["mean"] is None:
        pass
    job.cancel()
    with pytest.raises(ValueError, match="timeout_seconds is '5'; it must be a number of seconds"):
        job.wait("5")  # type: ignore[arg-type]
    with pytest.raises(JobFailed, match="was cancelled"):
        job.wait(300)
    finished, _ = client.sweep_report(job.id).rows()
    assert 0.5 < finished["mean"] <= 1


@pytest.mark.parametrize("limit", ["5", 2.5, True, 0, -1])
def test_limits_that_are_no_number_of_items_are_refused(client: Client, limit: Any) -> None:
    for items in (client.jobs, client.models, client.datasets):
        with pytest.raises(ValueError, match=f"limit is {limit!r}; it must be an integer of at least 1, or None"):
            items(limit=limit)


def test_audits_are_found_by_id(client: Client, service: RunningService, dataset: bristlecone.Dataset) -> None:
    report = client.audit(dataset, model=TREE, folds=3).wait(300)
    assert client.audit_report(report.id).issues == report.issues

    async def session() -> bristlecone.AuditReport:
        async with AsyncClient(service.url) as asynchronous:
            return await asynchronous.audit_report(report.id)

    assert asyncio.run(session()).noise_rate == report.noise_rate


def test_warnings_about_a_table_that_is_trained_on_are_shown_at_the_line_of_the_caller(
    client: Client, service: RunningService
) -> None:
    table = {"x": [1.0, 2.0, 3.0, 4.0] * 20, "constant": [1] * 80, "y": ["p", "q", "q", "p"] * 20}
    message = "column 'constant' is left out, because all values are equal"
    with pytest.warns(DataWarning, match=message) as shown:
        client.train(table, TREE, target="y").wait(300)
    assert {warning.filename for warning in shown} == {__file__}

    async def session() -> None:
        async with AsyncClient(service.url) as asynchronous:
            await (await asynchronous.train(table, TREE, target="y")).wait(300)

    with pytest.warns(DataWarning, match=message) as shown:
        asyncio.run(session())
    assert {warning.filename for warning in shown} == {__file__}


def answered(call: calls.Call) -> calls.Steps[calls.Answer]:
    return (yield call)


def run_in_two_parts(client: Client, steps: calls.Steps[Any], between: Callable[[], None]) -> Any:
    """Return the result of steps; `between` runs after the first call."""
    answer = client.run(answered(next(steps)))
    between()
    try:
        while True:
            answer = client.run(answered(steps.send(answer)))
    except StopIteration as end:
        return end.value


@pytest.mark.parametrize("as_frame", [True, False])
def test_all_parts_of_a_table_are_predicted_by_one_model(
    client: Client, monkeypatch: pytest.MonkeyPatch, as_frame: bool
) -> None:
    labels = {"first": ["p", "q"] * 20, "second": ["q", "p"] * 20}
    first, second = (
        client.train(client.upload({"x": [1, 2] * 20, "y": y}, "y"), TREE, name=name).wait(300)
        for name, y in labels.items()
    )
    client.set_alias("moving", first)
    monkeypatch.setattr(predictions, "_CELLS_PER_REQUEST", 10)
    table = {"x": [1] * 30}
    request = predictions.PredictionRequest("@moving", pd.DataFrame(table) if as_frame else table, "labels", {})
    predicted = run_in_two_parts(client, predictions.predict(request), lambda: client.set_alias("moving", second))
    assert list(predicted["label"]) == ["p"] * 30
    assert list(client.predict("@moving", table)["label"]) == ["q"] * 30
