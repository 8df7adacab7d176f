"""Tables as people have them, from the upload to the trained model."""

import datetime
import hashlib
import io
import uuid
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import core
from app.context import ServiceContext
from app.datasets.column_types import ColumnKind
from app.datasets.formats import PlainFile
from app.datasets.options import ReadingOptions, UploadOptions
from app.datasets.service import store_upload
from tests.workers.training_runs import run, run_to_the_end
from workers.dataset_rows import dataset_record, load_rows, load_test_rows


def stored(context: ServiceContext, content: bytes, **options: Any) -> uuid.UUID:
    """Upload a file whose label column is `y`, and return the id of the data set."""
    limits, store = context.settings.limits, context.dataset_store
    with store.staged() as path:
        path.write_bytes(content)
        file = PlainFile(path, hashlib.sha256(content).hexdigest(), len(content))
        upload = UploadOptions(**({"target": "y", "name": "t"} | options))
        return store_upload(context.sessions, store, limits, file, None, upload).dataset.id


def as_csv(columns: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    pa_csv.write_csv(pa.table(columns), out)
    return out.getvalue()


def as_parquet(columns: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def test_amounts_and_dates_in_text_train_like_parsed_ones(context: ServiceContext) -> None:
    generator = np.random.default_rng(0)
    amounts = np.round(generator.lognormal(9, 1, 5000), 2)
    days = generator.integers(0, 1500, 5000)
    dates = [datetime.date(2020, 1, 1) + datetime.timedelta(days=int(day)) for day in days]
    y = ((amounts > 8000) ^ (days > 700)).astype(int)
    parsed = as_parquet({"amount": amounts, "date": pa.array(dates), "y": y})
    text = as_csv(
        {"amount": [f"{amount:,.2f}" for amount in amounts], "date": [f"{day:%m/%d/%Y}" for day in dates], "y": y}
    )
    accuracies = []
    for content in (parsed, text):
        request = {"dataset_id": str(stored(context, content)), "model": {"kind": "forest", "n_estimators": 20}}
        accuracies.append(run(context, **request).metrics["test"]["accuracy"])
    assert accuracies[0] == accuracies[1]
    assert accuracies[1] > 0.97


def table(n_rows: int, seed: int) -> dict[str, Any]:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=n_rows)
    return {
        "id": [f"row-{row}" for row in range(n_rows)],
        "x": x,
        "color": generator.choice(["blue", "red"], n_rows),
        "w": generator.integers(1, 4, n_rows),
        "g": np.arange(n_rows) // 2,
        "y": np.where(x > 0, "yes", "no"),
    }


@pytest.fixture
def loaded(context: ServiceContext) -> Any:
    columns = table(200, seed=0)
    columns["y"][3:9] = ""
    return load_rows(context, dataset_record(context, stored(context, as_csv(columns), weight="w", group="g")))


def test_rows_keep_their_numbers_weights_and_groups(loaded: Any) -> None:
    columns = table(200, seed=0)
    labeled, unlabeled = loaded.labeled, loaded.unlabeled
    assert unlabeled.rows.tolist() == list(range(3, 9))
    np.testing.assert_array_equal(labeled.rows, [row for row in range(200) if not 3 <= row < 9])
    np.testing.assert_array_equal(labeled.weights, columns["w"][labeled.rows])
    np.testing.assert_array_equal(labeled.groups, columns["g"][labeled.rows])
    np.testing.assert_array_equal(labeled.X.X[:, 0], columns["x"][labeled.rows].astype(labeled.X.X.dtype))
    np.testing.assert_array_equal(unlabeled.X.X[:, 0], columns["x"][3:9].astype(labeled.X.X.dtype))
    assert [column.name for column in labeled.X.columns] == ["x", "color"]
    assert set(labeled.X.left_out) == {"id", "w", "g", "y"}


def test_a_model_of_them_takes_rows_with_all_columns(context: ServiceContext) -> None:
    columns = table(200, seed=0)
    columns["y"][3:9] = ""
    dataset_id = stored(context, as_csv(columns), weight="w", group="g")
    model = run(context, dataset_id=str(dataset_id), model={"kind": "tree"})
    assert model.metrics["test"]["n_rows"] + model.metrics["train_noisy"]["n_rows"] == 194
    assert model.metrics["test"]["accuracy"] > 0.9
    assert model.feature_schema["left_out"] == ["id", "w", "g"]
    estimator = core.load(context.artifact_store.path(model.artifact_sha256))
    frame = pa.table(table(50, seed=1))
    assert np.mean(estimator.predict(frame) == table(50, seed=1)["y"]) > 0.9


def test_weights_reach_the_fit(context: ServiceContext) -> None:
    """Rows of the weight 0 do not count, as if they were not in the file."""
    columns = table(400, seed=2)
    wrong = np.arange(400) % 4 == 0
    columns["y"] = np.where(wrong, "yes", columns["y"])
    columns["w"] = np.where(wrong, 0, 1)
    del columns["g"]
    request = {"model": {"kind": "tree"}, "evaluation": {"kind": "none"}}
    weighted = run(context, dataset_id=str(stored(context, as_csv(columns), weight="w")), **request)
    kept = {name: np.asarray(values)[~wrong] for name, values in columns.items()}
    without = run(context, dataset_id=str(stored(context, as_csv(kept), exclude=["w"])), **request)
    frame = pa.table(table(100, seed=3)).select(["x", "color"])
    estimators = [core.load(context.artifact_store.path(model.artifact_sha256)) for model in (weighted, without)]
    np.testing.assert_array_equal(*(estimator.predict(frame) for estimator in estimators))


def test_a_test_set_that_leaves_a_feature_out_still_has_it(context: ServiceContext) -> None:
    """In the test set one feature is constant, one is all distinct text, and the dates are written otherwise."""
    generator = np.random.default_rng(4)
    n_rows = 300
    training = {
        "kind": generator.choice(["a", "b", "c"], n_rows),
        "size": generator.integers(0, 5, n_rows),
        "city": [f"city-{row % 40}" for row in range(n_rows)],
        "when": [f"2024-01-{row % 28 + 1:02}" for row in range(n_rows)],
        "y": generator.integers(0, 2, n_rows),
    }
    test = {
        "y": [0, 1] * 10,
        "when": [f"{row + 1:02}.02.2024" for row in range(20)],
        "city": [f"city-{row}" for row in range(19, -1, -1)],
        "size": [3] * 20,
        "kind": ["c", "d"] * 10,
    }
    ids = [stored(context, as_csv(columns)) for columns in (training, test)]
    records = [dataset_record(context, dataset_id) for dataset_id in ids]
    assert {feature["name"] for feature in records[1].features if feature["kind"] == "ignored"} == {"size", "city"}
    rows = load_test_rows(context, records[1], records[0])
    sorted_cities = sorted({*training["city"]})
    np.testing.assert_array_equal(rows.X.X[:, 0], [2, np.nan] * 10)
    np.testing.assert_array_equal(rows.X.X[:, 1], [3] * 20)
    np.testing.assert_array_equal(rows.X.X[:, 2], [sorted_cities.index(city) for city in test["city"]])
    assert rows.X.X[0, 3] == datetime.datetime(2024, 2, 1, tzinfo=datetime.UTC).timestamp()
    evaluation = {"kind": "dataset", "dataset_id": str(ids[1])}
    model = run(context, dataset_id=str(ids[0]), model={"kind": "tree"}, evaluation=evaluation)
    assert model.metrics["test"]["n_rows"] == 20
    assert model.metrics["test"]["n_unknown_cells"] == 10


TRUTHS = ["True", "FALSE"] * 10
CODES = [f"{row % 8:03}" for row in range(20)]


@pytest.mark.parametrize(
    ("training", "test", "types"),
    [
        (["maybe", "maybe", *TRUTHS], TRUTHS, {}),
        (["false", "true", *TRUTHS], [*TRUTHS, "maybe", "maybe"], {}),
        (["000", "001", *CODES], pa.array([row % 8 for row in range(20)]), {"c": ColumnKind.CATEGORICAL}),
    ],
)
def test_the_categories_of_a_test_set_may_be_written_otherwise(
    context: ServiceContext, training: Any, test: Any, types: dict[str, ColumnKind]
) -> None:
    ids = [
        stored(context, as_csv({"c": training, "y": [0, 1] * (len(training) // 2)})),
        stored(context, as_parquet({"c": test, "y": [0, 1] * (len(test) // 2)}), types=types),
    ]
    records = [dataset_record(context, dataset_id) for dataset_id in ids]
    column = records[0].columns[0]
    codes = load_test_rows(context, records[1], records[0]).X.X[:20, 0]
    assert column.categories is not None
    spelled = [column.categories[int(code)] for code in codes]
    expected = [text.lower() for text in TRUTHS] if column.is_boolean else CODES if types else TRUTHS
    assert spelled == expected


@pytest.mark.parametrize("evaluation", [{"kind": "holdout"}, {"kind": "cross_validation", "folds": 3}])
def test_groups_reach_splits_and_fits(context: ServiceContext, evaluation: dict[str, Any]) -> None:
    """Labels are coin flips and every row is written three times: only a leak makes a model right."""
    generator = np.random.default_rng(5)
    original = np.repeat(np.arange(120), 3)
    columns = {"g": original, "x": generator.normal(size=120)[original], "y": generator.integers(0, 2, 120)[original]}
    request = {"model": {"kind": "forest", "n_estimators": 30, "oob_score": True}, "evaluation": evaluation}
    plain = run(context, dataset_id=str(stored(context, as_csv(columns), exclude=["g"])), **request)
    grouped = run(context, dataset_id=str(stored(context, as_csv(columns), group="g")), **request)
    assert plain.metrics["test"]["accuracy"] > 0.8 > 0.65 > grouped.metrics["test"]["accuracy"]
    assert plain.fitted["oob_score"] > 0.8 > 0.65 > grouped.fitted["oob_score"]


BOOLEANS = ["True", "FALSE"] * 20
OTHERS = [*["True", "FALSE"] * 19, "maybe", "maybe"]
ZERO_PADDED = [f"{row % 8:03}" for row in range(40)]
NUMBERS = [row % 8 for row in range(40)]


@pytest.mark.parametrize(
    ("training", "test", "codes", "n_unknown"),
    [
        (as_csv({"c": OTHERS, "y": [0, 1] * 20}), as_csv({"c": BOOLEANS, "y": [0, 1] * 20}), [1, 0] * 20, 0),
        (
            as_csv({"c": BOOLEANS, "y": [0, 1] * 20}),
            as_csv({"c": OTHERS, "y": [0, 1] * 20}),
            [*[1, 0] * 19, np.nan, np.nan],
            2,
        ),
        (as_csv({"c": ZERO_PADDED, "y": [0, 1] * 20}), as_parquet({"c": NUMBERS, "y": [0, 1] * 20}), NUMBERS, 0),
        (as_parquet({"c": NUMBERS, "y": [0, 1] * 20}), as_csv({"c": ZERO_PADDED, "y": [0, 1] * 20}), NUMBERS, 0),
    ],
    ids=["test booleans", "training booleans", "test numbers", "training numbers"],
)
def test_categories_of_a_test_set_are_matched_by_value(
    context: ServiceContext, training: bytes, test: bytes, codes: list[float], n_unknown: int
) -> None:
    types = {"c": ColumnKind.CATEGORICAL} if codes == NUMBERS else {}
    ids = [stored(context, content, types=types) for content in (training, test)]
    records = [dataset_record(context, dataset_id) for dataset_id in ids]
    rows = load_test_rows(context, records[1], records[0])
    np.testing.assert_array_equal(rows.X.X[:, 0], codes)
    assert rows.n_unknown_cells == n_unknown


def test_too_few_groups_are_told_in_words_of_the_upload(context: ServiceContext) -> None:
    generator = np.random.default_rng(6)
    columns = {"g": ["a", "b"] * 100, "x": generator.normal(size=200), "y": generator.integers(0, 2, 200)}
    request = {"dataset_id": str(stored(context, as_csv(columns), group="g")), "model": {"kind": "tree"}}
    failed = run_to_the_end(context, **request, evaluation={"kind": "cross_validation", "folds": 3})
    assert failed.error_message is not None
    assert failed.error_message.endswith("upload the data set again without `group`.")
    reason = run(context, **request, evaluation={"kind": "holdout"}).metrics["test_corrected"]["reason"]
    assert reason.startswith("all training rows are in one group of the column that the upload named as `group`")


@pytest.mark.parametrize(
    ("values", "nulls", "expected"),
    [
        ([-9999, 5, 7, 9] * 10, {"c": ("-9999",)}, [np.nan, 5, 7, 9] * 10),
        (["-", "a", "b", "d"] * 10, {"c": ("-",)}, [np.nan, 0, 1, np.nan] * 10),
    ],
    ids=["numbers", "texts"],
)
def test_missing_values_of_the_training_data_are_missing_in_a_test_set(
    context: ServiceContext, values: list[Any], nulls: Any, expected: list[float]
) -> None:
    training = [value if value != "d" else "a" for value in values]
    ids = [
        stored(context, as_csv({"c": training, "y": [0, 1] * 20}), reading=ReadingOptions(column_nulls=nulls)),
        stored(context, as_csv({"c": values, "y": [0, 1] * 20})),
    ]
    records = [dataset_record(context, dataset_id) for dataset_id in ids]
    rows = load_test_rows(context, records[1], records[0])
    np.testing.assert_array_equal(rows.X.X[:, 0], expected)
    assert rows.n_unknown_cells == (10 if "d" in values else 0)
