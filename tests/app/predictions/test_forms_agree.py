"""Equal rows give equal predictions in every form of request and answer, which are those of `core` on the artifact."""

import io
import json
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import core
from app.context import open_context
from app.storage.database import writing
from app.storage.schema import upgrade_to_head
from app.trained_models.records import NewTrainedModel
from app.trained_models.service import TrainedModelService
from tests.app.trained_models.made import client_of, new_model
from tests.conftest import make_settings
from tests.factories import store_columns
from tests.stored_files import put

JOBS = ("skilled", "unskilled", "1", "true", 'é, "x"')
NAMES = ("age", "job", "since", "married")
DATES = st.datetimes(datetime(1960, 1, 1), datetime(2100, 1, 1)).map(lambda date: date.replace(microsecond=0))
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "age": st.none()
            | st.integers(-(10**6), 10**6)
            | st.integers(0, 50).map(float)
            | st.floats(allow_nan=False, allow_infinity=False),
            "job": st.none() | st.sampled_from((*JOBS, "pilot", "never seen")),
            "since": st.none()
            | st.datetimes(datetime(1960, 1, 1), datetime(2100, 1, 1)).map(lambda d: d.replace(microsecond=0)),
            "married": st.none() | st.booleans(),
        }
    ),
    min_size=1,
    max_size=6,
)


def trained():
    """Return a forest that was fitted on a frame with columns of all kinds, and missing values."""
    random = np.random.default_rng(0)
    n_rows = 300
    columns = {
        "age": random.integers(0, 50, n_rows).astype(float).tolist(),
        "job": random.choice(JOBS, n_rows).tolist(),
        "since": [datetime(2000, 1, 1) + timedelta(days=int(days)) for days in random.integers(0, 5000, n_rows)],
        "married": random.choice([True, False], n_rows).tolist(),
    }
    for cells in columns.values():
        for i in random.choice(n_rows, 15, replace=False):
            cells[i] = None
    labels = random.choice(["bad", "fair", "good"], n_rows)
    return core.ForestClassifier(n_estimators=5, random_state=0).fit(pa.table(columns), labels)


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    home = tmp_path_factory.mktemp("agree")
    service_settings = make_settings(home, f"sqlite:///{home / 'test.db'}")
    upgrade_to_head(service_settings)
    context = open_context(service_settings)
    yield context
    context.close()


@pytest.fixture(scope="module")
def artifact(context):
    estimator = trained()
    features = [column.to_json() for column in estimator.columns_]
    schema = {"target": "y", "classes": estimator.classes_.tolist(), "features": features, "left_out": []}
    stored = put(context.artifact_store, lambda path: core.save(estimator, path, schema=schema))
    new = NewTrainedModel(**new_model(context, stored, schema))
    with writing(context.sessions) as session:
        TrainedModelService(session, context.artifact_store).register(new)
    return context.artifact_store.path(stored.sha256)


@pytest.fixture(scope="module")
def client(context, artifact):
    with client_of(context) as client:
        yield client


def as_table(rows, names=NAMES):
    types = {"age": pa.float64(), "job": pa.string(), "since": pa.timestamp("us"), "married": pa.bool_()}
    return pa.table({name: pa.array([row[name] for row in rows], types[name]) for name in names})


def as_json(row):
    return {name: cell.isoformat() if isinstance(cell, datetime) else cell for name, cell in row.items()}


def as_text(cell):
    if isinstance(cell, bool):
        return str(cell).lower()
    return "" if cell is None else cell.isoformat() if isinstance(cell, datetime) else str(cell)


def as_csv(rows, names):
    lines = [",".join('"' + as_text(row[name]).replace('"', '""') + '"' for name in names) for row in rows]
    return "\n".join([",".join(names), *lines]).encode()


def as_parquet(table):
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def as_stream(table):
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def bodies(rows, names):
    """Return media type and body of each form. names: the order of the columns."""
    ordered = [as_json({name: row[name] for name in names}) for row in rows]
    parameters = {"model": "credit-risk", "on_unknown": "missing"}
    columns = {name: [row[name] for row in ordered] for name in names}
    # Large documents are read in a child, as all tables are.
    padding = " " * 70_000
    table = as_table(rows, names)
    encoded = table.set_column(0, table.schema.field(0).name, table.column(0).dictionary_encode())
    return [
        ("application/json", json.dumps({**parameters, "rows": ordered}).encode()),
        ("application/json", json.dumps({**parameters, "columns": columns}).encode()),
        ("application/json", (json.dumps({**parameters, "rows": ordered}) + padding).encode()),
        ("application/json", (json.dumps({**parameters, "columns": columns}) + padding).encode()),
        ("text/csv", as_csv(rows, names)),
        ("application/x-ndjson", "\n".join(map(json.dumps, ordered)).encode()),
        ("application/vnd.apache.parquet", as_parquet(table)),
        ("application/vnd.apache.arrow.stream", as_stream(encoded)),
    ]


def post(client, media_type, body, accept="application/json"):
    query = {} if media_type == "application/json" else {"model": "credit-risk", "on_unknown": "missing"}
    headers = {"Content-Type": media_type, "Accept": accept}
    answer = client.post("/predict", params=query, content=body, headers=headers)
    assert answer.status_code == 200, (media_type, answer.text)
    assert answer.headers["content-type"].partition(";")[0] == accept
    return answer


def expected(artifact, rows):
    probabilities = core.load(artifact).predict_proba(as_table(rows))
    classes = ["bad", "fair", "good"]
    return [
        {"label": classes[row.argmax()], "probabilities": dict(zip(classes, row.tolist(), strict=True))}
        for row in probabilities
    ]


@settings(deadline=None, max_examples=12)
@given(rows=ROWS, names=st.permutations(NAMES))
def test_every_form_of_rows(client, artifact, rows, names):
    predictions = expected(artifact, rows)
    for media_type, body in bodies(rows, names):
        assert post(client, media_type, body).json()["predictions"] == predictions, media_type
    queries = [{"model": "credit-risk", "on_unknown": "missing"} | {n: as_text(row[n]) for n in names} for row in rows]
    one_by_one = [client.get("/predict", params=query).json() for query in queries]
    assert [{key: one[key] for key in ("label", "probabilities")} for one in one_by_one] == predictions


def read(answer):
    """Return a tabular answer as an Arrow table."""
    content = pa.py_buffer(answer.content)
    match answer.headers["content-type"].partition(";")[0]:
        case "text/csv":
            return pa_csv.read_csv(content)
        case "application/vnd.apache.parquet":
            return pq.read_table(content)
        case "application/vnd.apache.arrow.stream":
            return pa.ipc.open_stream(content).read_all()
    return pa.Table.from_pylist([json.loads(line) for line in answer.text.splitlines()])


@pytest.mark.parametrize(
    "accept",
    [
        "text/csv",
        "application/x-ndjson",
        "application/jsonl",
        "application/vnd.apache.parquet",
        "application/vnd.apache.arrow.stream",
    ],
)
@pytest.mark.parametrize("n_rows", [3, 60_000])
def test_every_form_of_answer(client, artifact, accept, n_rows):
    rows = [{"age": 7.0 + i, "job": JOBS[i % 4], "since": None, "married": i % 2 == 0} for i in range(7)]
    rows = [rows[i % 7] for i in range(n_rows)]
    table = as_table(rows)
    answer = post(client, "application/vnd.apache.arrow.stream", as_stream(table), accept)
    probabilities = core.load(artifact).predict_proba(table)
    written = read(answer)
    assert written.column_names == ["label", "p.bad", "p.fair", "p.good"]
    assert np.array_equal(np.column_stack(written.columns[1:]), probabilities)
    assert written.column("label").to_pylist() == [["bad", "fair", "good"][k] for k in probabilities.argmax(axis=1)]
    assert answer.headers["x-model-version"] == "1"
    body = {"model": "credit-risk", "columns": {name: [None] for name in NAMES}, "output": "labels"}
    assert read(client.post("/predict", json=body, headers={"Accept": accept})).column_names == ["label"]


def test_an_uploaded_data_set(context, client, artifact):
    rows = [
        {"age": age, "job": JOBS[i % 5], "since": datetime(2001, 2, 1 + i % 20, 3), "married": i % 3 == 0}
        for i, age in enumerate([1.5, None, 3.0, 4.0] * 10)
    ]
    columns = {name: [as_json(row)[name] for row in rows] for name in ("since", "married", "age", "job")}
    dataset = store_columns(context, columns | {"y": ["a", "b"] * 20}, name="scored")
    for reference in (str(dataset.id), "scored"):
        answer = client.post("/predict", json={"model": "credit-risk", "dataset_id": reference})
        assert answer.json()["predictions"] == expected(artifact, rows)
    unknown = client.post("/predict", json={"model": "credit-risk", "dataset_id": "nobody"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "dataset_not_found")
    assert unknown.json()["errors"][0]["pointer"] == "/dataset_id"


@pytest.mark.parametrize("name", NAMES)
def test_an_uploaded_data_set_whose_columns_are_constant(context, client, artifact, name):
    """Such a column is left out of the data set, whose stored form has codes of its categories."""
    constant = {"age": 3.0, "job": JOBS[2], "since": datetime(2001, 2, 3, 4), "married": True}
    rows = [
        {"age": 1.0 + i, "job": JOBS[i % 4], "since": datetime(2001, 2, 1 + i % 20, 3), "married": i % 3 == 0}
        | {name: constant[name]}
        for i in range(40)
    ]
    columns = {each: [as_json(row)[each] for row in rows] for each in NAMES}
    dataset = store_columns(context, columns | {"y": ["a", "b"] * 20}, name=f"constant-{name}")
    assert [each["kind"] for each in dataset.features if each["name"] == name] == ["ignored"]
    answer = client.post("/predict", json={"model": "credit-risk", "dataset_id": str(dataset.id)})
    assert answer.status_code == 200, answer.text
    assert answer.json()["predictions"] == expected(artifact, rows)
