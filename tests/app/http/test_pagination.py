"""Invalid cursors, sort fields and filters are refused with their own error codes, on both databases."""

import base64
import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

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
    assert client.get("/datasets", params=query).json() == {"items": [], "next_cursor": None}


@pytest.mark.parametrize(
    ("path", "name"),
    [("/datasets", "name"), ("/datasets", "sha256"), ("/datasets", "target"), ("/models", "name"), ("/models", "kind")],
)
def test_filters_with_a_nul_character(client: TestClient, path: str, name: str) -> None:
    refused(client, path, "invalid_request", f"query/{name}", **{name: "a\0"})
