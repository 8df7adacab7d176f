"""Columns of data frames in artifact files: a loaded model predicts raw frames."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import core
from core import Column, ColumnKind, EncodedTable, TextReading
from tests.core.artifact.artifact_files import forged, set_in, split_artifact

CSV = """amount,city,member,since,zip
"46,885.95",Bern,True,31.05.2024,01234
"1,200",Oslo,false,01.06.2024,99999
,Rom,TRUE,02.06.2024,01234
"-3.5",Bern,,,55555
"7,000,000",,False,31.12.1969,99999
"""
COLUMNS = (
    Column("amount", ColumnKind.NUMERIC, reading=TextReading(thousands=",")),
    Column("city", ColumnKind.CATEGORICAL, ("Bern", "Oslo", "Rom")),
    Column("member", ColumnKind.CATEGORICAL, ("false", "true"), is_boolean=True),
    Column("since", ColumnKind.DATETIME, reading=TextReading(dates="%d.%m.%Y")),
    Column("zip", ColumnKind.CATEGORICAL, ("01234", "55555", "99999")),
)
NAN = np.nan
X = np.array(
    [
        [46885.95, 0, 1, 1717113600, 0],
        [1200, 1, 0, 1717200000, 2],
        [NAN, 2, 1, 1717286400, 0],
        [-3.5, 0, NAN, NAN, 1],
        [7e6, NAN, 0, -86400, 2],
    ]
)


@pytest.fixture(scope="module")
def model():
    table = EncodedTable(np.repeat(X, 8, axis=0), COLUMNS)
    return core.ForestClassifier(n_estimators=10, random_state=0).fit(table, np.arange(40) // 8)


@pytest.fixture
def path(tmp_path, model):
    core.save(model, tmp_path / "model")
    return tmp_path / "model"


def frames():
    yield "pandas.read_csv", pd.read_csv(io.StringIO(CSV))
    yield "text only", pd.read_csv(io.StringIO(CSV), dtype=str, keep_default_na=False)
    yield "converted", pd.read_csv(io.StringIO(CSV), thousands=",", parse_dates=["since"], dayfirst=True)
    yield "categories", pd.read_csv(io.StringIO(CSV), dtype={"city": "category", "zip": "category"})
    yield "Arrow", pa.Table.from_pandas(pd.read_csv(io.StringIO(CSV), dtype=str))
    yield "encoded", core.encode_frame(pd.read_csv(io.StringIO(CSV)), COLUMNS)


@pytest.mark.parametrize("name", [name for name, _ in frames()])
def test_a_loaded_model_predicts_a_raw_frame(path, model, name):
    loaded, frame = core.load(path), dict(frames())[name]
    assert loaded.columns_ == COLUMNS
    expected = model.predict_proba(EncodedTable(X, model.columns_))
    np.testing.assert_array_equal(loaded.predict_proba(frame), expected)
    assert loaded.predict(frame).tolist() == [0, 1, 2, 3, 4]


def test_columns_that_the_fit_left_out_may_be_in_the_frame(tmp_path):
    for columns in (COLUMNS[:1], COLUMNS):
        table = EncodedTable(X[:, : len(columns)], columns, left_out=("id", "label"))
        core.save(core.TreeClassifier().fit(table, range(5)), tmp_path / "model")
        loaded = core.load(tmp_path / "model")
        frame = pd.read_csv(io.StringIO(CSV))[[column.name for column in columns]]
        if columns == COLUMNS[:1]:
            frame["amount"] = X[:, 0]
        frame.insert(0, "id", range(5))
        np.testing.assert_array_equal(loaded.predict_proba(frame), loaded.predict_proba(frame.drop(columns="id")))
        with pytest.raises(ValueError, match="unseen at fit time:\n- other"):
            loaded.predict(frame.assign(other=1))


def test_frames_of_numbers_need_no_columns_in_the_file(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0]})
    model = core.TreeClassifier().fit(frame, [0, 1])
    core.save(model, tmp_path / "model")
    header, _, _ = split_artifact((tmp_path / "model").read_bytes())
    assert header["columns"] is None
    loaded = core.load(tmp_path / "model")
    assert loaded.columns_ == model.columns_
    assert loaded.predict(frame.astype(str)).tolist() == [0, 1]


@pytest.mark.parametrize(
    "change",
    [
        set_in("columns", to={}),
        set_in("columns", to=[]),
        set_in("columns", to=[[]] * 5),
        set_in("columns", 0, "name", to="amounts"),
        set_in("columns", 0, "name", to=7),
        set_in("columns", 0, "kind", to="os.system"),
        set_in("columns", 0, "categories", to=["a"]),
        set_in("columns", 0, "reading", to={"decimal": "\ud800"}),
        set_in("columns", 0, "reading", to={"nulls": ["\ud800"]}),
        set_in("columns", 0, "reading", to={"dates": "%Y" * 60}),
        set_in("columns", 0, "reading", to="plain"),
        set_in("columns", 1, "categories", to=["Bern", "Bern"]),
        set_in("columns", 1, "categories", to=["\ud800"]),
        set_in("columns", 1, "categories", to="Bern"),
        set_in("columns", 2, "is_boolean", to="yes"),
        set_in("columns", 2, "categories", to=["no", "yes"]),
        lambda header: header["columns"].pop(),
        set_in("left_out", to="id"),
        set_in("left_out", to=[1]),
    ],
)
def test_hostile_columns_are_refused(path, change):
    path.write_bytes(forged(path.read_bytes(), change))
    with pytest.raises(core.ArtifactError):
        core.load(path)
