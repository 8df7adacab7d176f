"""Data sets that were stored before columns had readings and reasons are read as before."""

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.datasets.tables import DatasetRow
from app.storage.database import writing
from workers.dataset_rows import dataset_record, load_rows, load_test_rows

FEATURES = [
    {
        "name": "age", "kind": "numeric", "missing": 1, "min": 23, "max": 41, "mean": 32.0, "distinct": 2,
        "categories": None,
    },
    {
        "name": "job", "kind": "categorical", "missing": 0, "min": None, "max": None, "mean": None, "distinct": 2,
        "categories": ["skilled", "unskilled"],
    },
]  # fmt: skip


@pytest.fixture
def dataset_id(context):
    """Store a data set as version 0.2.0 did."""
    fingerprint = hashlib.sha256(b"old").hexdigest()
    columns = {
        "f0": pa.array([41, 23, None], pa.uint8()),
        "f1": pa.array([0, 1, 0], pa.uint8()),
        "target": pa.array([1, 0, 1], pa.int32()),
    }
    with context.dataset_store.staged() as path:
        table = pa.table(columns).replace_schema_metadata({b"bristlecone.matrix_dtype": b"float32"})
        pq.write_table(table, path)
        context.dataset_store.publish(path, fingerprint)
    row = DatasetRow(
        name="old",
        sha256="0" * 64,
        fingerprint=fingerprint,
        n_rows=3,
        n_labeled=3,
        n_bytes=100,
        target="risk",
        roles={"weight": None, "group": None},
        reading={},
        classes=[{"label": "bad", "count": 1}, {"label": "good", "count": 2}],
        features=FEATURES,
    )
    with writing(context.sessions) as session:
        session.add(row)
    return row.id


def test_answers(client, dataset_id):
    body = client.get(f"/datasets/{dataset_id}").json()
    assert [(feature["kind"], feature["reason"]) for feature in body["features"]] == [
        ("numeric", None),
        ("categorical", None),
    ]
    rows = client.get(f"/datasets/{dataset_id}/rows").json()["rows"]
    assert rows == [[41, "skilled", "good"], [23, "unskilled", "bad"], [None, "skilled", "good"]]
    age, job = client.get(f"/datasets/{dataset_id}/profile").json()["columns"]
    assert (age["quantiles"][0], age["quantiles"][-1]) == (23, 41)
    assert [level["level"] for level in job["levels"]] == ["skilled", "unskilled"]
    (item,) = client.get("/datasets").json()["items"]
    assert item["n_features"] == {"numeric": 1, "categorical": 1}


def test_arrays(context, dataset_id):
    loaded = load_rows(context, dataset_record(context, dataset_id))
    np.testing.assert_array_equal(loaded.labeled.X.X, [[41, 0], [23, 1], [np.nan, 0]])
    assert np.asarray(loaded.labeled.y).tolist() == ["good", "bad", "good"]
    assert len(loaded.unlabeled.rows) == 0
    np.testing.assert_array_equal(load_test_rows(context, loaded.record, loaded.record).X.X, loaded.labeled.X.X)
