"""Every limit of the settings refuses what passes it, with an answer that names it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from app.main import create_app
from app.settings import Limits, ServerSettings, Settings
from docs.generation.settings_table import settings as settings_table
from tests.app.trained_models.made import make_trained_model

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

TABLE = ("n,word,y\n" + "".join(f"{row},w{row % 20},{row % 2}\n" for row in range(100))).encode()
COLUMNS = {"n": list(range(20)), "y": [0, 1] * 10}


def _upload(client: TestClient) -> Response:
    types = json.dumps({"word": "categorical"})
    return client.post("/datasets", files={"file": ("t.csv", TABLE)}, data={"target": "y", "types": types})


def _train(client: TestClient, **model: Any) -> Response:
    body = {"name": "n", "data": {"columns": COLUMNS, "target": "y"}, "model": {"kind": "forest", **model}}
    return client.post("/train", json=body)


def _predict(client: TestClient) -> Response:
    make_trained_model(client.app.state.context, name="credit-risk")
    return client.post("/predict", json={"model": "credit-risk", "rows": [{"age": 1, "job": "skilled"}] * 10})


def _queue_two(client: TestClient) -> Response:
    _train(client).raise_for_status()
    return _train(client)


def _ask_twice(client: TestClient) -> Response:
    client.get("/jobs")
    return client.get("/jobs")


CASES: list[tuple[str, float, int, Callable[[TestClient], Response]]] = [
    ("max_upload_bytes", 100, 413, _upload),
    ("max_body_bytes", 100, 413, _train),
    ("max_decoded_bytes", 300, 413, _train),
    ("max_rows", 99, 422, _upload),
    ("max_columns", 2, 422, _upload),
    ("max_categories", 19, 422, _upload),
    ("max_text_bytes", 2, 422, _upload),
    ("max_trees", 9, 422, lambda client: _train(client, n_estimators=10)),
    ("max_trees", 199, 422, lambda client: _train(client, kind="auto")),
    ("max_queued_jobs", 1, 429, _queue_two),
    ("max_job_bytes", 1, 422, _train),
    ("max_answer_cells", 10, 413, _predict),
    ("min_free_bytes", 2**60, 507, _upload),
    ("requests_per_minute", 1, 429, _ask_twice),
]


@pytest.mark.parametrize(("name", "value", "status", "ask"), CASES, ids=[name for name, *_ in CASES])
def test_a_refusal_names_its_limit(
    settings: Settings, name: str, value: int, status: int, ask: Callable[[TestClient], Response]
) -> None:
    group = "limits" if name in Limits.model_fields else "server"
    changed = {group: (Limits if group == "limits" else ServerSettings)(**{name: value})}
    with TestClient(create_app(settings.model_copy(update=changed)), base_url="http://localhost") as client:
        refused = ask(client)
    assert refused.status_code == status, refused.text
    assert f"BRISTLECONE_{name.upper()}" in refused.json()["detail"]
    assert f"`BRISTLECONE_{name.upper()}`" in settings_table()
    if status == 429:
        assert int(refused.headers["Retry-After"]) > 0
