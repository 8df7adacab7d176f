"""Texts of an upload that are stored in the database or shown in answers are short."""

import json

import numpy as np
import pytest

from app.settings import Limits
from tests.app.datasets.tables import arrow_stream, parquet

LONG = "ä" * 513  # 1,026 bytes
ROWS = 40


def upload(client, content, **fields):
    return client.post("/datasets", files={"file": ("table", content)}, data={"target": "y", **fields})


def table(**columns):
    return {"x": list(range(ROWS)), "word": ["a", "b"] * (ROWS // 2), "y": [0, 1] * (ROWS // 2), **columns}


@pytest.mark.parametrize("make", [parquet, arrow_stream, lambda **columns: as_csv(columns)])
class TestLongTexts:
    def test_a_column_that_nobody_declared(self, client, make):
        response = upload(client, make(**table(word=["a"] * (ROWS - 1) + [LONG])))
        assert response.status_code == 201
        word = response.json()["features"][1]
        assert (word["kind"], word["reason"], word["distinct"], word["missing"]) == ("ignored", "free_text", None, 0)

    def test_a_declared_category(self, client, make):
        types = json.dumps({"word": "categorical"})
        response = upload(client, make(**table(word=["a", LONG] * (ROWS // 2))), types=types)
        refused_as(response, "text_too_long", "/types/word")

    def test_a_label(self, client, make):
        refused_as(upload(client, make(**table(y=["a", LONG] * (ROWS // 2)))), "text_too_long", "/target")

    def test_a_group(self, client, make):
        response = upload(client, make(**table(word=["a", LONG] * (ROWS // 2))), group="word")
        refused_as(response, "text_too_long", "/group")

    def test_a_column_name(self, client, make):
        refused_as(upload(client, make(**table(**{"€" * 400: list(range(ROWS))}))), "text_too_long", "/file")

    def test_the_limit_itself(self, client, make):
        response = upload(client, make(**table(word=["a", LONG[1:]] * (ROWS // 2))))
        assert response.json()["features"][1]["categories"] == ["a", LONG[1:]]


def as_csv(columns):
    lines = zip(*columns.values(), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(str, line)) for line in lines)]).encode()


def refused_as(response, code, pointer):
    problem = response.json()
    assert (response.status_code, problem["code"]) == (422, code)
    assert problem["errors"][0]["pointer"] == pointer
    assert "BRISTLECONE_MAX_TEXT_BYTES" in problem["detail"]
    assert len(response.content) < 2_000


def test_texts_of_the_request(client):
    refused_as(upload(client, parquet(**table()), nulls="-" * 1_100), "text_too_long", "/nulls")


def test_the_limit_is_a_setting(limited_client):
    client = limited_client(Limits(max_text_bytes=5))
    refused_as(upload(client, parquet(**table(y=["abcdef", "b"] * (ROWS // 2)))), "text_too_long", "/target")


class TestAnswers:
    @pytest.fixture
    def stored(self, client):
        texts = [f"{row} " + "long text " * 20_000 for row in range(ROWS)]
        response = upload(client, parquet(**table(word=texts)))
        assert len(response.content) < 5_000
        return f"/datasets/{response.json()['id']}"

    def test_rows(self, client, stored):
        rows = client.get(f"{stored}/rows").json()["rows"]
        assert all(len(row[1]) == 1_024 and row[1].endswith("…") for row in rows)
        assert rows[7][1].startswith("7 long text long")

    def test_profile(self, client, stored):
        levels = client.get(f"{stored}/profile").json()["columns"][1]["levels"]
        assert all(len(level["level"]) == 200 and level["level"].endswith("…") for level in levels)

    def test_number_of_cells(self, client, monkeypatch):
        monkeypatch.setattr("app.datasets.row_texts.MAX_SHOWN_CELLS", 51 * 50)
        columns = {f"x{index}": np.arange(200.0) % 10 for index in range(50)}
        stored = upload(client, parquet(**columns, y=[0, 1] * 100)).json()["id"]
        refused = client.get(f"/datasets/{stored}/rows?limit=51")
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "query/limit")
        assert len(client.get(f"/datasets/{stored}/rows").json()["rows"]) == 50


def test_excluding_thousands_of_columns(client):
    names = [f"column {index}" for index in range(9_000)]
    fields = {"exclude": [name for name in names[1:] for _ in range(3)], "target": "y"}
    content = arrow_stream(**{name: [1.0, 2.0, 3.0] for name in names}, y=[0, 1, 0])
    response = client.post("/datasets", files={"file": ("table", content)}, data=fields)
    assert [feature["name"] for feature in response.json()["features"]] == names[:1]
