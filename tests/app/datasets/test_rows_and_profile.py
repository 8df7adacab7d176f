"""Any rows of a data set, changes of its name, and profiles of its columns."""

import uuid

import numpy as np
import pyarrow as pa
import pytest

from app.datasets.column_profiles import QUANTILES
from tests.app.datasets.tables import parquet

CSV = b"when,job,age,risk\n31.12.2024,skilled,41,good\n01.02.2024,unskilled,23,bad\n,skilled,,good\n05.06.2024,,30,\n"


def upload(client, content=CSV, file_name="people.csv", **fields):
    return client.post("/datasets", files={"file": (file_name, content)}, data={"target": "risk", **fields})


class TestRows:
    def get(self, client, query):
        return client.get(f"/datasets/{upload(client).json()['id']}/rows{query}")

    def test_dates_and_categories_are_text_as_uploaded(self, client):
        assert self.get(client, "").json() == {
            "columns": ["when", "job", "age", "risk"],
            "rows": [
                ["31.12.2024", "skilled", 41, "good"],
                ["01.02.2024", "unskilled", 23, "bad"],
                [None, "skilled", None, "good"],
                ["05.06.2024", None, 30, None],
            ],
            "row_numbers": [0, 1, 2, 3],
        }

    @pytest.mark.parametrize(
        ("query", "numbers"),
        [("?offset=1&limit=2", [1, 2]), ("?offset=4", []), ("?rows=3,0,3", [3, 0, 3]), ("?rows=2", [2])],
    )
    def test_selection(self, client, query, numbers):
        everything = self.get(client, "").json()["rows"]
        answer = self.get(client, query).json()
        assert answer["row_numbers"] == numbers
        assert answer["rows"] == [everything[number] for number in numbers]

    @pytest.mark.parametrize(
        ("query", "code", "pointer"),
        [
            ("?rows=4", "unknown_row", "query/rows"),
            ("?rows=a", "invalid_request", "query/rows"),
            ("?rows=-1", "invalid_request", "query/rows"),
            ("?rows=" + ",".join(["1"] * 201), "invalid_request", "query/rows"),
            ("?offset=-1", "invalid_request", "query/offset"),
            ("?rows=1&offset=0", "invalid_request", "query/rows"),
            ("?rows=1&limit=5", "invalid_request", "query/rows"),
        ],
    )
    def test_invalid_selections(self, client, query, code, pointer):
        problem = self.get(client, query).json()
        assert (problem["code"], problem["errors"][0]["pointer"]) == (code, pointer)

    def test_far_apart_in_a_large_table(self, client):
        n_rows = 1_200_000
        content = parquet(x=np.arange(n_rows) * 0.1, risk=np.arange(n_rows) % 2)
        dataset = upload(client, content, "t.parquet").json()["id"]
        numbers = [1_199_999, 0, 600_000]
        answer = client.get(f"/datasets/{dataset}/rows", params={"rows": ",".join(map(str, numbers))}).json()
        assert answer["rows"] == [[number * 0.1, number % 2] for number in numbers]


class TestChanges:
    def test_of_name_description_and_tags(self, client):
        where = upload(client).headers["Location"]
        changed = client.patch(where, json={"name": "persons", "description": "as of May", "tags": ["hr"]}).json()
        assert (changed["name"], changed["description"], changed["tags"]) == ("persons", "as of May", ["hr"])
        assert client.patch(where, json={"description": None}).json()["description"] is None
        assert client.patch(where, json={}).json()["name"] == "persons"
        assert client.get(where).json()["name"] == "persons"
        assert [item["tags"] for item in client.get("/datasets?name=persons").json()["items"]] == [["hr"]]

    @pytest.mark.parametrize(
        "body", [{"name": ""}, {"tags": "hr"}, {"target": "age"}, {"name": "a\0"}, {"name": None}, {"tags": None}]
    )
    def test_invalid_ones(self, client, body):
        where = upload(client).headers["Location"]
        assert client.patch(where, json=body).json()["code"] == "invalid_request"

    def test_of_an_unknown_data_set(self, client):
        assert client.patch(f"/datasets/{uuid.uuid4()}", json={"name": "a"}).status_code == 404

    def test_known_content_keeps_its_name_and_says_so(self, client):
        first = upload(client, name="first").json()
        again = upload(client, name="second")
        assert (again.status_code, again.json()["id"], again.json()["name"]) == (200, first["id"], "first")
        (warning,) = (each for each in again.json()["warnings"] if each["code"] == "known_content")
        assert "'first'" in warning["detail"]
        assert f"PATCH /datasets/{first['id']}" in warning["detail"]
        assert client.get(f"/datasets/{first['id']}").json()["warnings"] == first["warnings"]
        assert upload(client, name="first").json() == first
        assert upload(client).json() == first

    def test_known_content_says_that_a_newer_data_set_has_its_name(self, client):
        first = upload(client, name="weekly").json()
        newer = upload(client, CSV.replace(b"\n", b"\r\n"), name="weekly").json()
        assert newer["id"] != first["id"]
        again = upload(client, name="weekly").json()
        (warning,) = (each for each in again["warnings"] if each["code"] == "known_content")
        assert (again["id"], "a newer data set has this name" in warning["detail"]) == (first["id"], True)
        assert client.get("/datasets/weekly").json()["id"] == newer["id"]


class TestProfile:
    def profile(self, client, query="", **columns):
        body = upload(client, parquet(**columns), "t.parquet").json()
        return client.get(f"/datasets/{body['id']}/profile{query}").json()

    @pytest.mark.parametrize("query", ["?column=x&offset=0", "?column=x&limit=5", "?" + "column=x&" * 201])
    def test_invalid_selections(self, client, query):
        problem = self.profile(client, query, x=[1, 2], risk=["u", "v"])
        assert (problem["code"], problem["errors"][0]["pointer"]) == ("invalid_request", "query/column")

    def test_of_numbers_by_class(self, client):
        x = np.arange(1000) / 8
        answer = self.profile(client, x=x, risk=["bad" if value < 25 else "good" for value in x])
        (column,) = answer["columns"]
        assert (answer["n_rows"], answer["n_profiled"], answer["n_columns"]) == (1000, 1000, 1)
        assert answer["classes"] == [{"label": "bad", "count": 200}, {"label": "good", "count": 800}]
        assert column["quantiles"] == pytest.approx(np.quantile(x, QUANTILES))
        assert column["by_class"][0] == pytest.approx(np.quantile(x[x < 25], QUANTILES))
        counts, edges = np.histogram(x, bins=30)
        assert column["histogram"]["edges"] == pytest.approx(edges)
        assert column["histogram"]["counts"] == counts.tolist()
        assert np.sum(column["histogram"]["by_class"], axis=1).tolist() == [200, 800]
        assert np.sum(column["histogram"]["by_class"], axis=0).tolist() == counts.tolist()

    def test_of_whole_numbers_and_missing_values(self, client):
        answer = self.profile(client, x=[1, 3, None, 3, 2], risk=["u", "v", "u", None, "u"])
        (column,) = answer["columns"]
        assert (column["missing"], column["distinct"]) == (1, 3)
        assert column["histogram"]["edges"] == [0.5, 1.5, 2.5, 3.5]
        assert column["histogram"]["counts"] == [1, 1, 2]
        assert column["histogram"]["by_class"] == [[1, 1, 0], [0, 0, 1]]

    def test_of_numbers_that_float_cannot_tell_apart(self, client):
        first = 2**53 + 1
        answer = self.profile(client, x=[first, first + 1, first + 2, first], risk=["u", "v", "u", "v"])
        assert sum(answer["columns"][0]["histogram"]["counts"]) == 4
        weighted = {"x": [1, 2, 3, 4], "w": [first, first + 2, first, first], "risk": ["u", "v", "u", "v"]}
        body = upload(client, parquet(**weighted), "t.parquet", target="risk", weight="w")
        assert body.status_code == 201, body.text

    def test_of_text_booleans_and_dates(self, client):
        answer = self.profile(
            client,
            word=["b", "a", "b", None],
            flag=[True, False, True, True],
            when=pa.array([0, 86400, 172800, None], pa.timestamp("s")),
            risk=["u", "v", "v", "u"],
        )
        word, flag, when = answer["columns"]
        assert word["levels"] == [
            {"level": "b", "count": 2, "by_class": [1, 1]},
            {"level": "a", "count": 1, "by_class": [0, 1]},
        ]
        assert [(level["level"], level["count"]) for level in flag["levels"]] == [("true", 3), ("false", 1)]
        assert (when["kind"], when["quantiles"][0], when["quantiles"][-1]) == ("datetime", "1970-01-01", "1970-01-03")
        assert when["histogram"]["edges"][0] == "1970-01-01"
        assert sum(when["histogram"]["counts"]) == 3

    def test_of_ignored_columns(self, client):
        n_rows = 30
        answer = self.profile(
            client,
            key=[f"k{row}" for row in range(n_rows)],
            one=[1] * n_rows,
            none=pa.nulls(n_rows, pa.float64()),
            x=list(range(n_rows)),
            risk=[row % 2 for row in range(n_rows)],
        )
        key, one, none, _ = answer["columns"]
        assert [(column["kind"], column["reason"]) for column in (key, one, none)] == [
            ("ignored", "identifier"),
            ("ignored", "constant"),
            ("ignored", "empty"),
        ]
        assert len(key["levels"]) == 20
        assert one["quantiles"] == [1.0] * len(QUANTILES)
        assert none["quantiles"] is None

    def test_selection_of_columns(self, client):
        columns = {f"x{number}": [number, number + 1, 5] for number in range(5)} | {"risk": [0, 1, 1]}
        body = upload(client, parquet(**columns), "t.parquet").json()

        def names(query):
            return [each["name"] for each in client.get(f"/datasets/{body['id']}/profile{query}").json()["columns"]]

        assert names("?offset=3") == ["x3", "x4"]
        assert names("?limit=2") == ["x0", "x1"]
        assert names("?column=x4&column=x1") == ["x4", "x1"]
        problem = client.get(f"/datasets/{body['id']}/profile?column=z").json()
        assert (problem["code"], problem["errors"][0]["pointer"]) == ("unknown_column", "query/column")

    def test_of_a_large_table_is_made_of_a_sample(self, client):
        n_rows = 250_000
        x = np.arange(n_rows)
        answer = self.profile(client, x=x, risk=(x % 4 == 0))
        assert answer["n_rows"] == n_rows
        assert 50_000 <= answer["n_profiled"] <= 100_000
        assert answer["columns"][0]["quantiles"] == pytest.approx(np.quantile(x, QUANTILES), abs=n_rows / 1000)
