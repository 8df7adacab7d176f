"""Uploads warn of numbers such as -9999 that probably stand for missing values, and of few others."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from app.datasets.placeholders import PlaceholderSearch, placeholder_warnings
from core import MISSING_TEXTS, TextReading
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
        (SUGAR, -9),
        (AGE, 998),
        (RATE, 9999.900390625),
    ],
)
@pytest.mark.parametrize("n_batches", [1, 7, 200])
def test_found(values, number, n_batches):
    values = with_number(values, number)
    values[[0, 100]] = np.nan
    [placeholder] = found(values, n_batches)
    assert TextReading(nulls=(placeholder.text,)).null_numbers == {number}
    assert (placeholder.count, list(placeholder.rows)) == (5, [10, 11, 12, 13, 14])
    others = values[(values != number) & ~np.isnan(values)]
    assert tuple(map(float, placeholder.others)) == (others.min(), others.max())


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
        with_number(ANSWER + 3, 9),
        with_number(RANDOM.choice([9, 19, 29, 39, 49, 59], N), 99),
        with_number(RANDOM.choice([4.99, 9.99, 19.99, 24.5, 49.99], N), 99.99),
        np.where(RATE > 0, 99.0, 0.0),
        np.full(N, -9999.0),
        np.full(N, np.nan),
    ],
)
@pytest.mark.parametrize("n_batches", [1, 7])
def test_not_found(values, n_batches):
    assert found(values, n_batches) == []


@pytest.mark.parametrize(
    ("values", "codes"),
    [(ANSWER, [98, 99]), (ANSWER, [97, 98, 99]), (AGE, [998, 999]), (INCOME, [-9999, -8888]), (RATE, [-99, 99])],
)
@pytest.mark.parametrize("n_batches", [1, 7])
def test_several_codes(values, codes, n_batches):
    values = values.astype(float)
    values[:60] = np.resize([*codes, *values[: 12 - len(codes)]], 60)
    placeholders = found(values, n_batches)
    assert {placeholder.text for placeholder in placeholders} == set(map(str, codes))
    assert {placeholder.count for placeholder in placeholders} == {5}
    others = values[~np.isin(values, codes)]
    assert {tuple(map(float, placeholder.others)) for placeholder in placeholders} == {(others.min(), others.max())}


#: 99 is farther from 90 than the quartiles of all values are from each other, but not than those of the first half.
SORTED = np.repeat(np.sort(np.concatenate([np.linspace(0, 70, 1_000), np.linspace(70, 72, 5_000), [80, 90]])), 2)


@pytest.mark.parametrize(("values", "n_found"), [(SORTED, 1), (SORTED[: len(SORTED) // 3], 0), (SORTED[::-1], 1)])
@pytest.mark.parametrize("n_batches", [1, 3, 100, 999])
def test_the_spread_is_that_of_all_batches(values, n_found, n_batches):
    values = np.concatenate([values, [99, 99]])
    values[values == 90] = 89.5
    assert len(found(values, n_batches, distinct=None)) == n_found


def test_a_column_of_mostly_one_value():
    values = np.array([0.0] * 100 + [1, 2, 3] * 3 + [99] * 4)
    assert [placeholder.text for placeholder in found(values)] == ["99"]
    assert found(np.array([0.0] * 100 + [1, 50, 60] * 3 + [99] * 4)) == []


def test_far_integers_beyond_exact_floats():
    search = PlaceholderSearch(n_columns=1)
    search.add(pa.array([2**63 - 1] * 3 + list(range(50))), (0, 2**63 - 1), 0)
    [placeholder] = search.found(51)
    assert placeholder.text == str(2**63 - 1)


def test_single_precision_is_written_as_such():
    for is_float32, text in ((True, "99.9"), (False, "99.9000015258789")):
        search, values = PlaceholderSearch(1, is_float32), with_number(RATE, 99.9).astype(np.float32)
        search.add(pa.array(values).cast(pa.float64()), (float(values.min()), float(values.max())), 0)
        assert [placeholder.text for placeholder in search.found(None)] == [text]


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
        proposed = [each["detail"].split("nulls=")[1] for each in warnings]
        body = upload(client, content, nulls=proposed)
        assert body["warnings"] == []
        assert [(each["missing"], each["min"] > 0) for each in body["features"]] == [(5, True), (5, True)]

    def test_the_way_out_keeps_what_was_missing_before(self, client):
        rows = ["-9999", "NA", "?", "", *map(str, AGE)] * 2
        content = "\n".join(["age,y", *(f"{age},{row % 2}" for row, age in enumerate(rows)), ""]).encode()
        [warning] = upload(client, content)["warnings"]
        [feature] = upload(client, content, nulls=warning["detail"].split("nulls=")[1])["features"]
        assert (feature["kind"], feature["missing"]) == ("numeric", 8)

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
    def test_add_to_the_list_of_one_column(self, client):
        content = b"a,b,c,y\n0,0,NA,u\n-,1,0,v\n2,0,x,u\n3,NA,0,v\n"
        body = upload(client, content, nulls=['{"a": [0, " - "]}', '{"c": ["0"]}'])
        assert [(each["kind"], each["missing"], each["categories"]) for each in body["features"]] == [
            ("numeric", 2, None),
            ("numeric", 1, None),
            ("categorical", 3, ["x"]),
        ]
        assert body["features"][0]["reading"] == {"nulls": [*MISSING_TEXTS, "0", "-"], "nulls_as_numbers": True}
        assert body["features"][1]["reading"] == {}
        assert body["reading"]["nulls"] == list(MISSING_TEXTS)
        rows = client.get(f"/datasets/{body['id']}/rows").json()["rows"]
        assert rows == [[None, 0, None, "u"], [None, 1, None, "v"], [2, 0, "x", "u"], [3, None, None, "v"]]

    def test_beside_a_list_of_all_columns(self, client):
        body = upload(client, b"a,b,y\n-,x,u\n1,-,v\n0,0,u\n", nulls=["-", '{"a": ["0"]}'])
        assert [each["missing"] for each in body["features"]] == [2, 1]
        assert [each["reading"]["nulls"] for each in body["features"]] == [["", "-", "0"], ["", "-"]]

    def test_texts_that_arrow_reads_as_numbers(self, client):
        rows = ["007", "inf", "0x1f", "1e999", "7", "31", "1", "2"]
        nulls = json.dumps({"a": ["007", "inf", "0x1f", "1e999"]})
        csv = "\n".join(["a,y", *(f"{text},{row % 2}" for row, text in enumerate(rows)), ""]).encode()
        ndjson = "\n".join(json.dumps({"a": text, "y": row % 2}) for row, text in enumerate(rows)).encode()
        for content in (csv, ndjson):
            [feature] = upload(client, content, nulls=nulls)["features"]
            assert (feature["kind"], feature["missing"], feature["max"]) == ("numeric", 4, 31)

    @pytest.mark.parametrize(
        ("cells", "null", "missing"),
        [
            (["100 %", "1", "50 %", "20 %"], "1", 1),
            (["1,5", "1.500", "1.500,0", "2.000,5"], "1.500", 2),
            (["01.02.2024", "-9", "13.02.2024", "14.02.2024"], "-9", 1),
            (["10", "9", "1.000", "2.000.000"], "9", 1),
        ],
    )
    def test_local_columns(self, client, cells, null, missing):
        content = "\n".join(["a;b;y", *(f"{cell};{row % 3};{row % 2}" for row, cell in enumerate(cells * 5)), ""])
        body = upload(client, content.encode(), nulls=json.dumps({"a": [null]}))
        assert (body["features"][0]["missing"], body["features"][0]["kind"]) != (0, "categorical"), body["warnings"]
        assert body["features"][0]["missing"] == missing * 5

    def test_labels(self, client):
        body = upload(client, b"a,y\n1,0\n2,1\n3,-1\n-1,0\n", nulls='{"y": ["-1"]}')
        assert (body["n_labeled"], body["features"][0]["min"]) == (3, -1)

    def test_are_another_data_set(self, client):
        content = csv_of(a=ANSWER, b=RATE, y=LABELS)
        one, other = (upload(client, content, nulls=nulls)["id"] for nulls in ('{"a": ["1"]}', '{"b": ["1"]}'))
        assert one != other

    @pytest.mark.parametrize("text", ["{missing}", "{", "{}", "[]"])
    def test_texts_that_are_no_objects_of_columns(self, client, text):
        [feature] = upload(client, f"a,y\n1,u\n{text},v\n2,u\n".encode(), nulls=text)["features"]
        assert (feature["kind"], feature["missing"]) == ("categorical", 0) if text == "{}" else ("numeric", 1)

    @pytest.mark.parametrize(
        ("nulls", "code", "pointer"),
        [
            ('{"z": ["0"]}', "unknown_typed_column", "/nulls/z"),
            ('{"a": "0"}', "invalid_request", "/nulls/0"),
            ('{"a": [true]}', "invalid_request", "/nulls/0"),
            ('{"a": ["0"], "a": ["1"]}', "invalid_request", "/nulls/0"),
            ('{"a": ', "invalid_request", "/nulls/0"),
            (json.dumps({"a": ["x" * 1_100]}), "text_too_long", "/nulls"),
            (json.dumps({"a": list(range(990))}), "invalid_request", "/"),
            ([f"t{number}" for number in range(1_000)], "invalid_request", "/"),
        ],
    )
    def test_faults(self, client, nulls, code, pointer):
        data = {"target": "y", "nulls": nulls}
        answer = client.post("/datasets", files={"file": ("t.csv", b"a,y\n1,u\n2,v\n")}, data=data)
        problem = answer.json()
        assert answer.status_code == 422
        assert (problem["code"], problem["errors"][0]["pointer"]) == (code, pointer), problem
        assert code != "invalid_request" or any(
            words in problem["detail"] for words in ('["-9999"]', "twice", "at most 1,000 are supported")
        )


def test_no_warning_without_placeholders():
    assert list(placeholder_warnings({"a": []})) == []
