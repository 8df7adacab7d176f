"""Uploads warn of numbers such as -9999 that probably stand for missing values, and of few others."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from app.datasets.placeholders import PlaceholderSearch, placeholder_warnings
from tests.app.datasets.tables import parquet

N = 200
RANDOM = np.random.default_rng(0)
INCOME = np.round(RANDOM.lognormal(10, 1, N))
AGE = RANDOM.integers(18, 91, N)
RATE = RANDOM.normal(0, 1, N)
ANSWER = RANDOM.integers(1, 6, N)
SUGAR = np.clip(np.round(RANDOM.normal(120, 25, N)), 44, 199)


def with_number(values, number, count=5):
    changed = values.astype(float)
    changed[10 : 10 + count] = number
    return changed


def found(values, n_batches=1, distinct="count"):
    search, first_row = PlaceholderSearch(n_columns=1), 0
    for part in np.array_split(values, n_batches):
        batch = pa.array(part, from_pandas=True)
        known = part[~np.isnan(part)]
        if len(known):
            search.add(batch, (known.min(), known.max()), first_row)
        first_row += len(part)
    return search.found(len(np.unique(values)) if distinct == "count" else distinct)


@pytest.mark.parametrize(
    ("values", "number"),
    [
        (INCOME, -9999),
        (INCOME, -99),
        (INCOME, 999999),
        (AGE, 999),
        (AGE, -9999),
        (AGE, 9999.9),
        (RATE, -99),
        (RATE, -99.9),
        (RATE, 1e20),
        (RATE, -5000),
        (RATE, -3.4028234663852886e38),
        (RATE, 1.7976931348623157e308),
        (ANSWER, 99),
        (ANSWER, 88),
        (SUGAR, 0),
    ],
)
@pytest.mark.parametrize("n_batches", [1, 7, 200])
def test_found(values, number, n_batches):
    values = with_number(values, number)
    values[[0, 100]] = np.nan
    [placeholder] = found(values, n_batches)
    assert (placeholder.number, placeholder.count) == (number, 5)
    assert list(placeholder.rows) == [10, 11, 12, 13, 14]
    others = values[(values != number) & ~np.isnan(values)]
    assert placeholder.others == (others.min(), others.max())


@pytest.mark.parametrize(
    "values",
    [
        INCOME,
        AGE,
        RATE,
        ANSWER,
        with_number(AGE, 99),
        with_number(INCOME, -9999, count=1),
        with_number(INCOME, INCOME.max() * 2, count=3),
        with_number(SUGAR, 0, count=50),
        with_number(SUGAR - SUGAR.min() + 1, 0),
        with_number(ANSWER, 0),
        with_number(ANSWER, 50),
        with_number(ANSWER, -1),
        np.where(RATE > 0, 99.0, 0.0),
        np.full(N, -9999.0),
        np.full(N, np.nan),
    ],
)
@pytest.mark.parametrize("n_batches", [1, 7])
def test_not_found(values, n_batches):
    assert found(values, n_batches) == []


def test_both_ends():
    values = with_number(with_number(RATE, -99)[::-1], 99)
    assert [placeholder.number for placeholder in found(values)] == [-99, 99]


def test_batches_make_no_difference():
    values = np.concatenate([np.sort(RANDOM.normal(0, 40, 30_000)), np.full(20, 99 * 1.5)])
    assert len({str(found(values, n_batches, distinct=None)) for n_batches in (1, 3, 100, 999)}) == 1


def test_far_integers_beyond_exact_floats():
    search = PlaceholderSearch(n_columns=1)
    search.add(pa.array([2**63 - 1] * 3 + list(range(50))), (0, 2**63 - 1), 0)
    [placeholder] = search.found(51)
    assert placeholder.number == 2**63 - 1


def csv_of(**columns):
    return pd.DataFrame(columns).to_csv(index=False).encode()


def upload(client, content, **fields):
    answer = client.post("/datasets", files={"file": ("t", content)}, data={"target": "y", **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


LABELS = ["a", "b"] * (N // 2)


class TestUpload:
    @pytest.mark.parametrize("as_file", [csv_of, parquet])
    def test_the_way_out_of_the_warning(self, client, as_file):
        content = as_file(income=with_number(INCOME, -9999), sugar=with_number(SUGAR, 0), y=LABELS)
        warnings = upload(client, content)["warnings"]
        assert [(each["code"], each["column"], each["rows"]) for each in warnings] == [
            ("likely_missing", "income", [10, 11, 12, 13, 14]),
            ("likely_missing", "sugar", [10, 11, 12, 13, 14]),
        ]
        assert "5 values of column 'sugar' are 0, far from all others, which are 57 to 182" in warnings[1]["detail"]
        proposed = [json.loads(each["detail"].split("nulls=")[1]) for each in warnings]
        body = upload(client, content, nulls=json.dumps(proposed[0] | proposed[1]))
        assert body["warnings"] == []
        assert [(each["missing"], each["min"] > 0) for each in body["features"]] == [(5, True), (5, True)]

    def test_many_columns_share_a_warning(self, client):
        columns = {f"c{number}": with_number(RATE + number, -9999) for number in range(8)}
        [warning] = upload(client, csv_of(**columns, y=LABELS))["warnings"]
        assert (warning["column"], warning["code"]) == (None, "likely_missing")
        assert warning["detail"].startswith("8 columns have -9999 far from all other values: 'c0', ")

    def test_ignored_columns_and_dates_have_none(self, client):
        days = pa.array([0] * 5 + list(range(20_000, 20_195)), pa.int32()).cast(pa.date32())
        content = parquet(skipped=with_number(RATE, -9999), day=days, x=RATE, y=LABELS)
        assert upload(client, content, types='{"skipped": "ignored"}')["warnings"] == []


class TestNullsOfColumns:
    def test_hold_for_the_column_alone(self, client):
        content = b"a,b,c,y\n0,0,NA,u\n-,1,0,v\n2,0,x,u\n3,NA,0,v\n"
        body = upload(client, content, nulls='{"a": ["0", " - "], "c": ["0"]}')
        assert [(each["kind"], each["missing"], each["categories"]) for each in body["features"]] == [
            ("numeric", 2, None),
            ("numeric", 1, None),
            ("categorical", 2, ["NA", "x"]),
        ]
        assert body["features"][0]["reading"] == {"nulls": ["", "0", "-"]}
        assert body["features"][1]["reading"] == {}
        assert "NA" in body["reading"]["nulls"]
        rows = client.get(f"/datasets/{body['id']}/rows").json()["rows"]
        assert rows == [[None, 0, "NA", "u"], [None, 1, None, "v"], [2, 0, "x", "u"], [3, None, None, "v"]]

    def test_labels(self, client):
        body = upload(client, b"a,y\n1,0\n2,1\n3,-1\n-1,0\n", nulls='{"y": ["-1"]}')
        assert (body["n_labeled"], body["features"][0]["min"]) == (3, -1)

    def test_are_another_data_set(self, client):
        content = csv_of(a=ANSWER, b=RATE, y=LABELS)
        one, other = (upload(client, content, nulls=nulls)["id"] for nulls in ('{"a": ["1"]}', '{"b": ["1"]}'))
        assert one != other

    @pytest.mark.parametrize(
        ("nulls", "code", "pointer"),
        [
            ('{"z": ["0"]}', "unknown_typed_column", "/nulls/z"),
            ('{"a": "0"}', "invalid_request", "/nulls/a"),
            ('{"a": [0]}', "invalid_request", "/nulls/a/0"),
            ('{"a": ["0"], "a": ["1"]}', "invalid_request", "/nulls"),
            ('{"a": ', "invalid_request", "/nulls"),
            (json.dumps({"a": ["x" * 1_100]}), "text_too_long", "/nulls"),
        ],
    )
    def test_faults(self, client, nulls, code, pointer):
        data = {"target": "y", "nulls": nulls}
        answer = client.post("/datasets", files={"file": ("t.csv", b"a,y\n1,u\n2,v\n")}, data=data)
        problem = answer.json()
        assert answer.status_code == 422
        assert (problem["code"], problem["errors"][0]["pointer"]) == (code, pointer), problem


def test_no_warning_without_placeholders():
    assert list(placeholder_warnings({"a": []})) == []
