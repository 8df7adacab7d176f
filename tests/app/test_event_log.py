"""Changes by users in the log: who made them, what, from where and to what; never a secret or a value of the data."""

import json
import logging

import pytest
from fastapi.testclient import TestClient

from app.access.scopes import Scope
from app.access.service import create_key, delete_key, revoke_key
from app.logs import LogFormat, configure_logging
from tests.app.trained_models.made import make_trained_model

SECRET = "Doe-Jane-1957"

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def _lines(capsys: pytest.CaptureFixture[str]) -> tuple[str, list[dict]]:
    text = capsys.readouterr().err
    return text, [json.loads(line) for line in text.splitlines()]


def test_changes_are_logged_with_their_maker(client: TestClient, capsys: pytest.CaptureFixture[str]) -> None:
    context = client.app.state.context
    models = [make_trained_model(context, name="credit-risk") for _ in range(2)]
    configure_logging(LogFormat.JSON)
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    capsys.readouterr()
    key, secret = create_key(context.sessions, "ops", [Scope.ADMIN], None)
    other, _ = create_key(context.sessions, "old", [Scope.READ], None)
    headers = {"Authorization": f"Bearer {secret}", "X-Request-Id": "request-7"}
    for model in (*models, models[1]):
        client.put("/aliases/production", json={"model_id": str(model.id)}, headers=headers).raise_for_status()
    client.put("/models/by-name/credit-risk/default", json={"version": 1}, headers=headers).raise_for_status()
    client.patch("/models/by-name/credit-risk", json={"name": "risk"}, headers=headers).raise_for_status()
    client.delete("/aliases/production", headers=headers).raise_for_status()
    revoke_key(context.sessions, other.id)
    delete_key(context.sessions, other.id)
    text, lines = _lines(capsys)

    first, second = (f":{model.version} ({model.id})" for model in models)
    by_ops = [
        {"event": "alias_moved", "name": "production", "from_model": None, "to_model": f"credit-risk{first}"},
        {"event": "alias_moved", "from_model": f"credit-risk{first}", "to_model": f"credit-risk{second}"},
        {"event": "default_version_moved", "from_model": None, "to_model": f"credit-risk{first}"},
        {"event": "models_renamed", "from_name": "credit-risk", "to_name": "risk"},
        {"event": "alias_removed", "from_model": f"risk{second}", "to_model": None},
    ]
    keys = [
        {"event": "key_created", "key_name": "ops", "key_id": str(key.id), "scopes": ["admin"]},
        {"event": "key_created", "key_name": "old"},
        {"event": "key_revoked", "key_id": str(other.id)},
        {"event": "key_deleted", "key_id": str(other.id)},
    ]
    events = [line for line in lines if "event" in line]
    made = [line for line in events if "actor" in line]
    assert len(made) == len(by_ops)
    for line, expected in zip(made, by_ops, strict=True):
        assert {**expected, "actor": "ops", "request_id": "request-7"}.items() <= line.items()
    for line, expected in zip([line for line in events if "actor" not in line], keys, strict=True):
        assert expected.items() <= line.items()
    assert secret not in text
    assert key.sha256 not in text


def test_requests_are_logged_with_ids_and_without_values(client: TestClient, capsys) -> None:
    make_trained_model(client.app.state.context, name="credit-risk")
    configure_logging(LogFormat.JSON)
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    capsys.readouterr()
    job_id = "3f0e8f7e-0000-4000-8000-000000000000"
    client.get(f"/predict?model=credit-risk&age=41&job={SECRET}", headers={"X-Request-Id": "request-8"})
    client.post("/predict", json={"model": "credit-risk", "rows": [{"age": 41, "job": SECRET}]})
    client.get(f"/jobs/{job_id}/events?note={SECRET}")
    client.get(f"/jobs/{job_id}?wait=1")
    client.get(f"/models?name_contains={SECRET}")
    client.get(f"/metrics?{SECRET}=1")
    client.put("/aliases/production", json={"model_id": SECRET})
    text, lines = _lines(capsys)
    assert SECRET not in text
    told = [{name: line.get(name) for name in ("route", "status", "code", "job_id")} for line in lines]
    assert {"route": "/predict", "status": 422, "code": "unknown_category", "job_id": None} in told
    assert {"route": "/jobs/{job_id}", "status": 404, "code": "job_not_found", "job_id": job_id} in told
    assert {"route": "/models", "status": 200, "code": None, "job_id": None} in told
    assert {line["request_id"] for line in lines if line.get("route") == "/predict"} >= {"request-8"}
