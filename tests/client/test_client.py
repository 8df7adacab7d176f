"""The blocking and the asynchronous client against a running service."""

import asyncio
import io
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bristlecone
import core
from bristlecone import AsyncClient, Client, Conflict, InvalidRequest, JobFailed, NotFound, steps
from bristlecone.frames import columns_of
from bristlecone.progress import ProgressBar
from tests.service_process import RunningService

TREE = {"kind": "tree", "max_depth": 3}
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "columns": dict,
    "rows": lambda columns: [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
}


def features(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: values for name, values in columns.items() if name != "repaid"}


@pytest.fixture
def model(client: Client, columns: dict[str, list[Any]]) -> bristlecone.Model:
    return client.train(columns, TREE, target="repaid", name="loans").wait(300)


@pytest.mark.parametrize("library", FRAMES)
def test_frames_of_all_libraries_train_and_predict_alike(
    client: Client, columns: dict[str, list[Any]], model: bristlecone.Model, library: str
) -> None:
    dataset = client.upload(FRAMES[library](columns), "repaid", name=f"from {library}")
    assert (dataset.n_rows, dataset.target, len(dataset.features)) == (300, "repaid", 3)
    same = client.train(dataset, TREE).wait(300)
    frame = FRAMES[library](features(columns))
    predicted = same.predict(frame)
    assert type(predicted) is type(frame)
    expected = model.predict(features(columns))
    assert columns_of(predicted) == expected
    assert list(expected) == ["label", "p.no", "p.yes"]
    assert list(columns_of(model.predict(frame, output="labels"))) == ["label"]
    later = model.predict(frame, respond_async=True).wait(300)
    assert type(later) is type(frame)
    assert columns_of(later) == expected
    assert client.jobs(kind="predict")[0].wait(300) == expected
    assert model.predict(dataset) == expected


def test_typed_frames_keep_their_types(client: Client, columns: dict[str, list[Any]]) -> None:
    frame = pd.DataFrame(columns).assign(since=lambda table: pd.to_datetime(table["since"]))
    frame.index += 1000
    frame["job"] = frame["job"].astype("category")
    typed = client.train(frame, TREE, target="repaid").wait(300)
    kinds = {feature["name"]: feature["kind"] for feature in typed.raw["schema"]["features"]}
    assert kinds == {"amount": "numeric", "job": "categorical", "since": "datetime"}
    predicted = typed.predict(frame.drop(columns="repaid"))
    assert predicted.index.equals(frame.index)
    for other in (pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False)):
        assert columns_of(typed.predict(other, extra="ignore")) == columns_of(predicted)


def test_record_batches_and_columns_of_mixed_types_are_uploaded(client: Client, columns: dict[str, list[Any]]) -> None:
    batch = pa.RecordBatch.from_pydict(columns)
    mixed = pd.DataFrame(columns).assign(code=[7, "B2", 9] * 100)
    assert client.upload(batch, "repaid").n_rows == 300
    assert "code" in {feature["name"] for feature in client.upload(mixed, "repaid").features}


def test_frames_that_cannot_be_uploaded_are_refused_by_name(client: Client, columns: dict[str, list[Any]]) -> None:
    frame = pd.DataFrame(columns)
    with pytest.raises(ValueError, match="several columns have the name 'amount'"):
        client.upload(frame.rename(columns={"job": "amount"}), "repaid")
    mixed = frame.assign(code=[7, "B2", float("inf")] * 100)
    with pytest.raises(ValueError, match="column 'code' contains infinity"):
        client.upload(mixed, "repaid")


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".csv.gzip", ".json", ".parquet", ".xlsx"])
def test_files_are_read_by_their_ending(
    client: Client, columns: dict[str, list[Any]], tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"loans{suffix}"
    # The same content under another name would be the data set that is there already.
    frame = pd.DataFrame(columns).assign(suffix=suffix)
    if suffix == ".parquet":
        frame.to_parquet(path, index=False)
    elif suffix == ".json":
        frame.to_json(path, orient="records", date_format="iso")
    elif suffix == ".xlsx":
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False, compression="gzip" if "gz" in suffix else None)
    dataset = client.upload(path, "repaid", exclude=["since"], types={"job": "categorical"})
    assert (dataset.n_rows, dataset.name) == (300, path.name)
    assert "since" not in [feature["name"] for feature in dataset.features]
    assert client.dataset(dataset.id).n_rows == 300


@pytest.mark.parametrize(
    ("name", "ending"), [("data.gz", ".gz"), ("data", ""), ("data.xls.ZST", ".xls.zst"), ("data.csv.bz2", ".bz2")]
)
def test_files_of_unknown_formats_are_refused_by_their_whole_name(client: Client, name: str, ending: str) -> None:
    message = f"the format of '{name}' is not known by its ending '{ending}'; use one of .csv, .*, each also with .*.gz"
    with pytest.raises(ValueError, match=message):
        client.upload(name, "repaid")


def test_model_is_found_saved_and_read_by_the_library(
    client: Client, model: bristlecone.Model, columns: dict[str, list[Any]], tmp_path: Path
) -> None:
    assert model.id in [found.id for found in client.models(name="loans")]
    assert client.model(f"loans:{model.version}").id == model.id
    assert 0.5 < model.metrics["test"]["accuracy"] <= 1
    client.set_alias("live", model)
    assert client.aliases()["live"] == f"loans:{model.version}"
    assert client.predict("@live", features(columns)) == model.predict(features(columns))
    model.save(str(tmp_path / "model.bristlecone"))
    fitted = bristlecone.load(tmp_path / "model.bristlecone")
    assert isinstance(fitted, bristlecone.TreeClassifier)
    assert fitted.predict(pd.DataFrame(features(columns))).tolist() == model.predict(features(columns))["label"]


def test_audit_and_sweep_return_reports_that_can_be_drawn(client: Client, columns: dict[str, list[Any]]) -> None:
    dataset = client.upload(columns, "repaid")
    forest = {"kind": "forest", "n_estimators": 30}
    report = client.audit(dataset, model=forest).wait(300)
    assert 0.02 < report.noise_rate < 0.3
    assert len(report.issues) == report.n_issues
    assert report.plot().get_xlabel() == "given label"
    noise = [{"kind": "uniform", "rate": rate} for rate in (0.0, 0.3)]
    sweep = client.sweep(dataset, [TREE], noise, repeats=2).wait(300)
    assert [row["noise"] for row in sweep.rows()] == ["uniform 0.0", "uniform 0.3"]
    assert sweep.plot().get_ylabel().startswith("accuracy")


def test_refusals_are_exceptions_with_their_code(client: Client, columns: dict[str, list[Any]]) -> None:
    with pytest.raises(NotFound, match="model_not_found"):
        client.model("no-such-model")
    with pytest.raises(InvalidRequest) as refusal:
        client.upload(columns, "no such column")
    assert refusal.value.code
    assert refusal.value.request_id
    with pytest.raises(ValueError, match="target="):
        client.train(columns, TREE)
    with pytest.raises(TypeError, match="not a table"):
        client.predict("loans", 3)
    with pytest.raises(ValueError, match="ending"):
        client.upload("loans.docx", "repaid")


def test_failed_and_cancelled_jobs_raise(client: Client, columns: dict[str, list[Any]]) -> None:
    many_rows = {name: values * 30 for name, values in columns.items()}
    slow = client.train(many_rows, {"kind": "forest", "n_estimators": 10_000}, target="repaid")
    with pytest.raises(TimeoutError, match="goes on"):
        slow.wait(0)
    assert slow.cancel().state in ("cancelling", "cancelled")
    with pytest.raises(JobFailed, match="was cancelled"):
        client.job(slow.id).wait(300)
    assert slow.refresh().state == "cancelled"
    ended = client.train(columns, TREE, target="repaid")
    ended.wait(300)
    with pytest.raises(Conflict, match="job_already_finished"):
        ended.cancel()


def test_progress_is_drawn(client: Client, columns: dict[str, list[Any]]) -> None:
    output = io.StringIO()
    job = client.train(columns, TREE, target="repaid")
    client.run(steps.wait(job.id, ProgressBar(output), 300))
    last = output.getvalue().rstrip("\n").rpartition("\r")[2]
    assert last.startswith(f"train |{'#' * 30}| 100%")


def test_the_asynchronous_client_does_the_same(
    service: RunningService, columns: dict[str, list[Any]], tmp_path: Path
) -> None:
    async def session() -> None:
        async with AsyncClient(service.url) as client:
            dataset = await client.upload(pd.DataFrame(columns), "repaid")
            jobs = [await client.train(dataset, TREE) for _ in range(2)]
            first, second = await asyncio.gather(*(job.wait(300) for job in jobs))
            assert await first.predict(features(columns)) == await second.predict(features(columns))
            later = await first.predict(pd.DataFrame(features(columns)), respond_async=True)
            assert columns_of(await later.wait(300)) == await first.predict(features(columns))
            await client.set_alias("async", first)
            assert (await client.aliases())["async"] == f"{first.name}:{first.version}"
            (tmp_path / "model").write_bytes(await first.artifact())
            assert isinstance(core.load(tmp_path / "model"), core.TreeClassifier)
            report = await (await client.audit(dataset, model=TREE, folds=3)).wait(300)
            assert report.n_rows == 300
            assert {dataset.id for dataset in await client.datasets()} >= {dataset.id}
            assert len(await client.jobs(state="succeeded")) >= 3
            with pytest.raises(NotFound):
                await client.model("no-such-model")

    asyncio.run(session())


def test_names_may_have_characters_of_urls(client: Client, columns: dict[str, list[Any]]) -> None:
    client.upload(columns, "repaid", name="sales")
    for name in ("sales#2", "sales?x", "50%25", "sales & more", ".."):
        client.upload({**columns, name: [0.5, 1.5] * 150}, "repaid", name=name)
        assert client.dataset(name).name == name


def test_a_row_is_named_by_its_number_in_the_whole_table(
    model: bristlecone.Model, columns: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bristlecone.predictions._CELLS_PER_REQUEST", 300)
    table = features(columns)
    table["job"] = [*table["job"][:250], "pilot", *table["job"][251:]]
    for data in (table, pd.DataFrame(table)):
        with pytest.raises(InvalidRequest, match="At /columns/job/250: the category 'pilot'") as caught:
            model.predict(data)
        assert caught.value.errors[0]["pointer"] == "/columns/job/250"


def test_rows_of_a_list_have_the_same_keys(model: bristlecone.Model, columns: dict[str, list[Any]]) -> None:
    rows = FRAMES["rows"](features(columns))[:2]
    name = next(reversed(rows[1]))
    del rows[1][name]
    with pytest.raises(ValueError, match=f"row 1 has no '{name}', which other rows have"):
        model.predict(rows)
    assert len(model.predict(rows, on_missing="missing")) == 2


def test_columns_of_unequal_lengths_and_intervals(client: Client) -> None:
    with pytest.raises(ValueError, match=r"different numbers of values, \{'x': 3, 'y': 2\}"):
        client.upload({"x": [1, 2, 3], "y": ["p", "q"]}, "y")
    frame = pd.DataFrame({"x": pd.cut(pd.Series(range(30)), 5), "z": [1, 2] * 15, "y": ["p", "q", "q"] * 10})
    dataset = client.upload(frame, "y", name="intervals")
    assert [feature["kind"] for feature in dataset.features] == ["categorical", "numeric"]
