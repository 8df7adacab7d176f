"""Invalid cursors, sort fields and filters are refused with their own error codes, on both databases."""

import base64
import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.app.trained_models.made import make_trained_model
from tests.factories import make_dataset, make_job

KEY = "00000000-0000-0000-0000-000000000001"


def cursor(sort: str, value: Any, key: Any = KEY) -> str:
    return base64.urlsafe_b64encode(json.dumps([sort, value, key]).encode()).decode()


def refused(client: TestClient, path: str, code: str, pointer: str, **query: str) -> None:
    response = client.get(path, params=query)
    assert (response.status_code, response.json()["code"]) == (422, code), response.text
    assert response.json()["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize(
    ("path", "sort", "value"),
    [
        ("/datasets", "n_rows", 10**30),
        ("/datasets", "n_rows", "many"),
        ("/models", "version", 2**31),
        ("/models", "size_bytes", -(10**30)),
        ("/models", "fit_seconds", 10**400),
        ("/models", "fit_seconds", float("inf")),
        ("/jobs", "attempt", 10**30),
        ("/jobs", "created_at", "0001-01-01T00:00:00+14:00"),
        ("/jobs", "created_at", "9999-12-31T23:59:59-14:00"),
        ("/datasets", "created_at", 5),
        ("/datasets", "name", "a\0b"),
        ("/models", "name", "\ud800"),
        ("/jobs", "state", "lost"),
    ],
)
def test_values_that_no_row_can_have(client: TestClient, path: str, sort: str, value: Any) -> None:
    refused(client, path, "invalid_cursor", "query/cursor", sort=sort, cursor=cursor(sort, value))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 20_000,
        "9" * 5000,
        "5",
        "[]",
        "\xff",
        json.dumps(["\ud800", 1, KEY]),
        json.dumps([["-created_at"], 1, KEY]),
        json.dumps(["-created_at", "2026-01-01T00:00:00+00:00", 5]),
    ],
)
def test_damaged_cursors(client: TestClient, text: str) -> None:
    forged = base64.urlsafe_b64encode(text.encode("latin-1")).decode()
    refused(client, "/jobs", "invalid_cursor", "query/cursor", cursor=forged)


def test_the_largest_integers_that_a_row_can_have(client: TestClient) -> None:
    query = {"sort": "n_rows", "cursor": cursor("n_rows", 2**63 - 1)}
    assert client.get("/datasets", params=query).json() == {"items": [], "next_cursor": None, "total": 0}


@pytest.mark.parametrize(
    ("path", "name"),
    [("/datasets", "name"), ("/datasets", "sha256"), ("/datasets", "target"), ("/models", "name"), ("/models", "kind")],
)
def test_filters_with_a_nul_character(client: TestClient, path: str, name: str) -> None:
    refused(client, path, "invalid_request", f"query/{name}", **{name: "a\0"})


NAMES = ["Loans 2024", "loans_2025", "100% loans", "cars"]


def named(client: TestClient, path: str, query: dict[str, Any]) -> tuple[set[str], int]:
    page = client.get(path, params=query).json()
    return {item["name"] for item in page["items"]}, page["total"]


class TestTotalsAndParts:
    """`total` counts all pages, and `name_contains` takes its characters as they are."""

    @pytest.mark.parametrize(
        ("part", "found"),
        [("LOANS", set(NAMES[:3])), ("_", {"loans_2025"}), ("%", {"100% loans"}), ("/", set()), ("", set(NAMES))],
    )
    def test_data_sets(self, client: TestClient, part: str, found: set[str]) -> None:
        for name in NAMES:
            make_dataset(client.app.state.context, name=name)
        assert named(client, "/datasets", {"name_contains": part}) == (found, len(found))
        page = client.get("/datasets", params={"limit": 1, "name_contains": part}).json()
        assert (len(page["items"]), page["total"]) == (min(len(found), 1), len(found))

    def test_models_and_aliases(self, client: TestClient) -> None:
        context = client.app.state.context
        for name in ("loans", "cars", "loans"):
            model = make_trained_model(context, name=name)
        for alias in ("loans-best", "other"):
            client.put(f"/aliases/{alias}", json={"model_id": str(model.id)})
        assert named(client, "/models", {"name_contains": "Loan", "limit": 1}) == ({"loans"}, 2)
        assert named(client, "/models", {"name": "cars", "name_contains": "c"}) == ({"cars"}, 1)
        assert named(client, "/aliases", {"name_contains": "BEST"}) == ({"loans-best"}, 1)

    def test_every_page_has_the_total(self, client: TestClient) -> None:
        for _ in range(3):
            make_job(client.app.state.context)
        cursor = None
        for n_items in (2, 1):
            page = client.get("/jobs", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
            assert (len(page["items"]), page["total"]) == (n_items, 3)
            cursor = page["next_cursor"]
        assert client.get("/jobs?state=failed").json()["total"] == 0
        assert client.get("/audits").json()["total"] == client.get("/sweeps").json()["total"] == 0

    def test_a_nul_character_is_refused(self, client: TestClient) -> None:
        refused(client, "/models", "invalid_request", "query/name_contains", name_contains="a\0b")
