"""Requests and helpers for the tests of POST /train."""

import json
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from tests.factories import FEATURES, make_dataset

TREE = {"kind": "tree"}


def refused(client: TestClient, body: dict[str, Any], status: int = 422) -> tuple[str, list[str]]:
    # ASCII, as the client's own encoder would refuse half of a surrogate pair before the service could.
    response = client.post("/train", content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert response.status_code == status, response.text
    problem = response.json()
    return problem["code"], [error["pointer"] for error in problem["errors"]]


def wide_dataset(client: TestClient, n_classes: int, n_features: int) -> str:
    """Return the id of a data set of many classes and features whose rows are never read."""
    classes = [{"label": label, "count": 10} for label in range(n_classes)]
    features = [FEATURES[0] | {"name": f"x{number}"} for number in range(n_features)]
    given = {"n_rows": 10 * n_classes, "classes": classes, "features": features}
    assert isinstance(client.app, FastAPI)
    return str(make_dataset(client.app.state.context, **given))


def n_jobs(client: TestClient) -> int:
    return len(client.get("/jobs").json()["items"])
