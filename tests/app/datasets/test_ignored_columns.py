"""Columns that no model should see are left out by default, stored all the same, and brought back by types."""

import json

import pytest

from app.settings import Limits
from tests.app.datasets.tables import parquet


def upload(client, columns, **fields):
    rows = zip(*columns.values(), strict=True)
    content = "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows), ""]).encode()
    return client.post("/datasets", files={"file": ("t.csv", content)}, data={"target": "y", **fields})


N = 60
BASE = {"x": [f"{row * 7 % 13}.5" for row in range(N)], "y": [row % 2 for row in range(N)]}
SENTENCE = "the customer {row} was quite happy with it"

LEFT_OUT = {
    "all distinct": ([f"id-{row}" for row in range(N)], "identifier"),
    "nearly all distinct": ([f"id-{row % 57}" for row in range(N)], "identifier"),
    "free text": ([SENTENCE.format(row=row % 50) for row in range(N)], "free_text"),
    "constant number": ([7] * N, "constant"),
    "constant text": (["EUR"] * N, "constant"),
    "constant boolean": (["true"] * N, "constant"),
    "empty": ([""] * N, "empty"),
    "missing texts": (["NA", "?"] * (N // 2), "empty"),
}

KEPT = {
    "repeating text": [f"city-{row % 30}" for row in range(N)],
    "repeating sentences": [SENTENCE.format(row=row % 5) for row in range(N)],
    "distinct fractions": [f"{row}.25" for row in range(N)],
    "distinct whole numbers": [row * 3 for row in range(N)],
    "constant with missing values": ["7", ""] * (N // 2),
    "dates": [f"2024-01-{row % 28 + 1:02}" for row in range(N)],
}


def feature(body, name):
    return next(each for each in body["features"] if each["name"] == name)


@pytest.mark.parametrize(("cells", "reason"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_left_out(client, cells, reason):
    body = upload(client, {"c": cells, **BASE}).json()
    assert (feature(body, "c")["kind"], feature(body, "c")["reason"]) == ("ignored", reason)
    (warning,) = (each for each in body["warnings"] if each["code"] == "ignored_column")
    assert warning["column"] == "c"
    assert "`types`" in warning["detail"]
    rows = client.get(f"/datasets/{body['id']}/rows").json()
    stored = [row[rows["columns"].index("c")] for row in rows["rows"]]
    missing = ("", "NA", "?")
    assert [str(cell) if cell is not None else None for cell in stored] == [
        None if str(cell) in missing else str(cell) for cell in cells[:50]
    ]


@pytest.mark.parametrize("cells", KEPT.values(), ids=KEPT)
def test_kept(client, cells):
    body = upload(client, {"c": cells, **BASE}).json()
    assert feature(body, "c")["kind"] != "ignored"
    assert feature(body, "c")["reason"] is None


@pytest.mark.parametrize(
    ("name", "when_counting", "when_distinct"),
    [
        ("rowId", "ignored", "ignored"),
        ("id_customer", "ignored", "ignored"),
        ("Unnamed: 0", "ignored", "ignored"),
        ("serial", "ignored", "numeric"),
        ("mass index", "ignored", "numeric"),
        ("width", "numeric", "numeric"),
        ("paid", "numeric", "numeric"),
    ],
)
def test_numbers_that_identify_the_rows_under_such_a_name(client, name, when_counting, when_distinct):
    counting = list(range(1, N + 1))
    assert feature(upload(client, {name: counting, **BASE}).json(), name)["kind"] == when_counting
    shuffled = [number * 37 % 101 for number in counting]
    assert feature(upload(client, {name: shuffled, **BASE}).json(), name)["kind"] == when_distinct
    repeating = [*shuffled[1:], shuffled[1]]
    assert feature(upload(client, {name: repeating, **BASE}).json(), name)["kind"] == "numeric"


FRACTIONS = [f"{row * 37 % 101}.25" for row in range(N)]


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("price_index", FRACTIONS, "numeric"),
        ("num", ["0", "1.5", "3"] * (N // 3), "numeric"),
        ("record date", [f"2024-01-{row % 28 + 1:02}" for row in range(N)], "datetime"),
    ],
)
def test_fractions_and_dates_under_such_a_name_are_used(client, name, cells, kind):
    assert feature(upload(client, {name: cells, **BASE}).json(), name)["kind"] == kind


def test_fractions_of_a_typed_file_under_such_a_name_are_used(client):
    content = parquet(index=[float(text) for text in FRACTIONS], y=BASE["y"])
    body = client.post("/datasets", files={"file": ("t.parquet", content)}, data={"target": "y"}).json()
    assert feature(body, "index")["kind"] == "numeric"


def test_types_bring_columns_back_and_leave_them_out(client):
    columns = {"id": [f"id-{row}" for row in range(N)], "one": [1] * N, **BASE}
    types = {"id": "categorical", "one": "numeric", "x": "ignored"}
    body = upload(client, columns, types=json.dumps(types)).json()
    assert [(each["kind"], each["reason"]) for each in body["features"]] == [
        ("categorical", None),
        ("numeric", None),
        ("ignored", "requested"),
    ]
    assert body["warnings"] == []


def test_many_columns_of_one_reason_share_a_warning(client):
    columns = {f"c{number}": [number] * N for number in range(40)}
    warnings = upload(client, {**columns, **BASE}).json()["warnings"]
    assert [(warning["column"], warning["code"]) for warning in warnings] == [(None, "ignored_column")]
    assert "40 columns" in warnings[0]["detail"]


def test_a_table_of_ignored_columns_only_is_refused(client):
    problem = upload(client, {"c": [1] * N, "y": BASE["y"]}).json()
    assert problem["code"] == "no_features"
    assert "'c' (constant)" in problem["detail"]


class TestManyCategories:
    def test_identifiers_beyond_the_limit_are_left_out(self, limited_client):
        client = limited_client(Limits(max_categories=10))
        body = upload(client, {"c": [f"id-{row}" for row in range(N)], **BASE}).json()
        assert (feature(body, "c")["reason"], feature(body, "c")["distinct"]) == ("identifier", None)
        rows = client.get(f"/datasets/{body['id']}/rows?rows=59").json()["rows"]
        assert rows == [["id-59", 10.5, 1]]

    def test_ten_thousand_are_kept_and_one_more_is_refused(self, client):
        n_rows = 40_000
        columns = {"x": [row % 1000 for row in range(n_rows)], "y": [row % 2 for row in range(n_rows)]}
        body = upload(client, {"c": [f"c{row % 10_000}" for row in range(n_rows)], **columns}).json()
        assert feature(body, "c")["distinct"] == 10_000
        item = client.get("/datasets").text
        assert len(item) < 2_000
        problem = upload(client, {"c": [f"c{row * 7 % 10_007}" for row in range(n_rows)], **columns}).json()
        assert problem["code"] == "too_many_categories"
        assert "BRISTLECONE_MAX_CATEGORIES" in problem["detail"]


class TestTarget:
    def refusal(self, client, labels, **fields):
        response = upload(client, {"x": [row * 3 for row in range(len(labels))], "y": labels}, **fields)
        return response.json()

    def test_a_quantity_is_refused(self, client):
        labels = [f"{row % 40}.5" for row in range(200)]
        assert self.refusal(client, labels)["code"] == "continuous_target"
        forced = self.refusal(client, labels, types='{"y": "categorical"}')
        assert len(forced["classes"]) == 40

    def test_a_quantity_with_too_many_values_is_called_one(self, client):
        assert self.refusal(client, [f"{row}.5" for row in range(2000)])["code"] == "continuous_target"

    def test_a_nearly_unique_target_is_refused(self, client):
        problem = self.refusal(client, [f"name {row % 40}" for row in range(60)])
        assert (problem["code"], problem["errors"][0]["pointer"]) == ("nearly_unique_target", "/target")

    def test_ratings_are_classes(self, client):
        assert "id" in self.refusal(client, [f"{row % 9 / 2}" for row in range(90)])

    def test_labels_that_differ_in_case_or_blanks(self, client):
        body = self.refusal(client, ["ja", " ja ", "Ja", "nein", "j a", "nein"] * 5)
        (warning,) = body["warnings"]
        assert (warning["code"], [entry["label"] for entry in body["classes"]]) == (
            "similar_labels",
            ["Ja", "j a", "ja", "nein"],
        )
        assert "'ja' (10 rows)" in warning["detail"]
        assert warning["rows"] == [0, 2, 4]

    def test_many_and_rare_classes(self, client):
        body = self.refusal(client, [f"c{row % 110}" for row in range(330)] + ["rare"])
        assert [warning["code"] for warning in body["warnings"]] == ["many_classes", "rare_classes"]
        assert body["warnings"][1]["rows"] == [330]

    def test_local_numbers_are_told_and_quantities_refused(self, client):
        body = self.refusal(client, [f'"{row % 10 // 2},{row % 2 * 5}"' for row in range(90)])
        (warning,) = body["warnings"]
        assert (warning["code"], warning["rows"]) == ("labels_are_numbers", [0, 1, 2, 3, 4])
        assert len(body["classes"]) == 10
        for label in ('"{},5"', '"1,{:03}.50"'):
            labels = [label.format(row % 40) for row in range(200)]
            assert self.refusal(client, labels)["code"] == "continuous_target"
