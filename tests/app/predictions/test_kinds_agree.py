"""Every kind of feature has the same value in every form, and in a data frame with the downloaded model."""

import io
import json
import math

import numpy as np
import pandas as pd
import pytest

import core
from app.context import open_context
from app.predictions.coercion import FeatureEncoder, Leniency
from app.predictions.errors import Faults, Invalid
from app.predictions.forms import from_columns, from_query, from_rows
from app.storage.schema import upgrade_to_head
from core import Column, ColumnKind, EncodedTable, TextReading
from tests.app.trained_models.made import client_of, make_trained_model
from tests.conftest import make_settings
from tests.stored_files import put

COLUMNS = (
    Column("amount", ColumnKind.NUMERIC, reading=TextReading(thousands=",")),
    Column("balance", ColumnKind.NUMERIC, reading=TextReading(decimal=",", thousands=".")),
    Column("since", ColumnKind.DATETIME),
    Column("born", ColumnKind.DATETIME, reading=TextReading(dates="%d.%m.%Y")),
    Column("member", ColumnKind.CATEGORICAL, ("false", "true"), is_boolean=True),
    Column("job", ColumnKind.CATEGORICAL, ("skilled", "unskilled")),
    Column("zip", ColumnKind.CATEGORICAL, ("01234", "99999"), reading=TextReading(nulls=("-", "-9"))),
    Column("share", ColumnKind.NUMERIC, reading=TextReading(percent=True)),
    Column("income", ColumnKind.NUMERIC, reading=TextReading(nulls=("", "-9999"))),
)
#: Cells of one feature that all have the same value; those that are not text exist in JSON only.
SAME = {
    "amount": [
        ["46,885.95", "46885.95", " 46,885.95 ", 46885.95],
        ["", "NA", "?", None],
    ],
    "share": [["12 %", "12%", 0.12], ["NA", None]],
    "balance": [["46.885,95", "46885,95", 46885.95], ["nan", "NULL", None]],
    "since": [["2024-05-31", "2024-05-31T00:00:00Z", "2024-05-31 02:00+02:00"], ["NaT", "", None]],
    "born": [["31.05.2024", "2024-05-31"], ["-nan", None]],
    "member": [["true", "TRUE", " True ", True], ["false", False], ["N/A", None]],
    "job": [["skilled", " skilled"], ["unskilled"], ["None", None]],
    "zip": [["01234", 1234, 1234.0], ["99999", 99999], ["-", -9, None]],
    "income": [["12", 12], ["-9999", "-9999.0", " -9999", -9999, -9999.0, "", None]],
}
CELLS = [(name, cell, group[0]) for name, groups in SAME.items() for group in groups for cell in group]
BAD = [
    ("amount", "1,23", "not_a_number"),
    ("amount", "much", "not_a_number"),
    ("amount", "12 %", "not_a_number"),
    ("share", "0.12", "not_a_number"),
    ("share", "50", "not_a_number"),
    ("amount", True, "not_a_number"),
    ("balance", "46,885.95", "not_a_number"),
    ("since", "31.05.2024", "not_a_date"),
    ("since", 1717113600, "not_a_date"),
    ("born", "05/31/2024", "not_a_date"),
    ("member", "yes", "unknown_category"),
    ("member", 1, "unknown_category"),
    ("job", "pilot", "unknown_category"),
    ("zip", "NA", "unknown_category"),
]


def number(name, cell, form):
    """Return the number of one cell in one form of a request, which has one feature."""
    encoder, faults = FeatureEncoder([column for column in COLUMNS if column.name == name]), Faults()
    if form == "query":
        table = from_query([(name, cell)], encoder.known, faults)
    elif form == "rows":
        table = from_rows([{name: cell}], encoder.names, faults)
    else:
        n_rows = int(form.removeprefix("columns of "))
        table = from_columns({name: [cell] * n_rows}, encoder.known, faults)
    values = encoder.matrix(table, Leniency(), faults)
    assert len(set(map(str, values[:, 0]))) == 1
    return float(values[0, 0])


def forms_of(cell):
    return ["rows", "columns of 1", "columns of 3"] + (["query"] if isinstance(cell, str) else [])


@pytest.mark.parametrize(("name", "cell", "same"), CELLS)
def test_cells_with_the_same_meaning_are_the_same_number_in_every_form(name, cell, same):
    for form in forms_of(cell):
        np.testing.assert_equal(number(name, cell, form), number(name, same, "rows"))


def test_the_numbers_are_what_the_columns_say():
    expected = {
        "amount": 12,
        "balance": 46885.95,
        "since": 1717113600,
        "born": 1717113600,
        "member": 1,
        "zip": 0,
        "share": 0.12,
        "income": 12,
    }
    written = {"amount": "12", "balance": "46.885,95", "since": "2024-05-31", "born": "31.05.2024", "member": "True"}
    written |= {"share": "12 %", "income": "12"}
    assert {name: number(name, (written | {"zip": 1234})[name], "rows") for name in expected} == expected
    assert all(math.isnan(number(name, None, "rows")) for name in SAME)


@pytest.mark.parametrize(("name", "cell", "code"), BAD)
def test_faults_are_the_same_in_every_form(name, cell, code):
    for form in forms_of(cell):
        with pytest.raises(Invalid) as fault:
            number(name, cell, form)
        assert fault.value.code == code
        [*_, error] = fault.value.errors
        assert name in error.pointer
        assert str(cell).lower() in error.detail.lower()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    home = tmp_path_factory.mktemp("kinds")
    service_settings = make_settings(home, f"sqlite:///{home / 'test.db'}")
    upgrade_to_head(service_settings)
    context = open_context(service_settings)
    estimator = fitted()
    stored = put(context.artifact_store, lambda path: core.save(estimator, path))
    schema = {"target": "y", "classes": ["no", "yes"], "features": [column.to_json() for column in COLUMNS]}
    make_trained_model(context, name="kinds", artifact_sha256=stored.sha256, feature_schema=schema)
    with client_of(context) as client:
        yield client, core.load(context.artifact_store.path(stored.sha256))
    context.close()


def fitted():
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(0, 2, 400) for _ in COLUMNS]).astype(float)
    X[:, 2:4] *= 1717113600
    y = np.where((X > 0).sum(axis=1) > 3, "yes", "no")
    X[random.random(X.shape) < 0.1] = np.nan
    return core.ForestClassifier(n_estimators=10, random_state=0).fit(EncodedTable(X, COLUMNS), y)


CSV = """amount,balance,since,born,member,job,zip,share,income
"46,885.95","46.885,95",2024-05-31,31.05.2024,TRUE,skilled,01234,12 %,1
12,NA,2023-01-01T10:00:00Z,01.02.1960,false,unskilled,99999,0.5%,-9999
,"0,5",?,,,,-,,0
0.7,1,1969-12-31 23:59,2024-05-31,True, skilled,01234,100 %,-9999
"""


def test_one_fault_among_many_cells_is_found_at_its_row():
    encoder = FeatureEncoder([column for column in COLUMNS if column.name in ("born", "job")])
    cells = {"born": ["31.05.2024"] * 50_000, "job": ["skilled", None] * 25_000}
    cells["born"][40_000], cells["job"][3], cells["job"][5] = "31.31.2024", "pilot", "\ud800"
    with pytest.raises(Invalid) as fault:
        encoder.matrix(from_columns(cells, encoder.known, Faults()), Leniency(), Faults())
    pointers = [error.pointer for error in fault.value.errors]
    assert pointers == ["/columns/born/40000", "/columns/job/3", "/columns/job/5"]
    lenient = Leniency(on_unknown="missing")
    del cells["born"][40_000], cells["job"][40_000]
    values = encoder.matrix(from_columns(cells, encoder.known, Faults()), lenient, Faults())
    assert values[:6, 1].tolist()[::2] == [0.0, 0.0, 0.0]
    assert np.isnan(values[[3, 5], 1]).all()


def test_columns_that_the_fit_left_out_are_read_over():
    encoder, faults = FeatureEncoder(COLUMNS[:1], left_out=("y", "id")), Faults()
    table = from_rows([{"amount": 1, "y": "yes", "id": 5}], encoder.names, faults)
    assert encoder.matrix(table, Leniency(), faults).tolist() == [[1.0]]
    with pytest.raises(Invalid, match="no feature 'z'"):
        encoder.matrix(from_rows([{"amount": 1, "z": 5}], encoder.names, faults), Leniency(), faults)


def test_a_raw_frame_has_the_predictions_of_the_service(served):
    client, estimator = served
    text = pd.read_csv(io.StringIO(CSV), dtype=str, keep_default_na=False)
    rows = json.loads(text.to_json(orient="records"))
    answers = client.post("/predict", json={"model": "kinds", "rows": rows}).json()["predictions"]
    expected = [list(answer["probabilities"].values()) for answer in answers]
    for frame in (text, pd.read_csv(io.StringIO(CSV))):
        assert estimator.predict_proba(frame).tolist() == expected
    assert estimator.predict(text).tolist() == [answer["label"] for answer in answers]
    for row, answer in zip(rows, answers, strict=True):
        assert client.get("/predict", params={"model": "kinds", **row}).json()["label"] == answer["label"]
