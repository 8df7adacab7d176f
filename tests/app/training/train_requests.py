"""What the tests of POST /train share."""

import json
from typing import Any

from fastapi.testclient import TestClient

TREE = {"kind": "tree"}


def refused(client: TestClient, body: dict[str, Any], status: int = 422) -> tuple[str, list[str]]:
    # ASCII, as the client's own encoder would refuse half of a surrogate pair before the service could.
    response = client.post("/train", content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert response.status_code == status, response.text
    problem = response.json()
    return problem["code"], [error["pointer"] for error in problem["errors"]]


def n_jobs(client: TestClient) -> int:
    return len(client.get("/jobs").json()["items"])
