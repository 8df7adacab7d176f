"""Audits of uploaded files with rows without a label and with groups."""

import csv
import io
import uuid
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.context import ServiceContext
from app.jobs.states import JobState
from tests.factories import job
from tests.job_attempts import attempt_job
from workers.auditing import audit

FOREST = {"kind": "forest", "n_estimators": 60, "min_samples_leaf": 5}


@pytest.fixture
def context(client: TestClient) -> ServiceContext:
    return client.app.state.context


def upload(client: TestClient, header: str, lines: list[str], **fields: str) -> str:
    text = "\n".join([header, *lines]) + "\n"
    answer = client.post("/datasets", files={"file": ("t.csv", text)}, data={"target": "y", **fields})
    assert answer.status_code == 201, answer.json()
    return answer.json()["id"]


def audited(client: TestClient, context: ServiceContext, dataset_id: str) -> str:
    body = {"dataset_id": dataset_id, "model": FOREST}
    audit_id = client.post("/audits", json=body).json()["id"]
    attempt_job(context, uuid.UUID(audit_id), audit)
    assert job(context, uuid.UUID(audit_id)).state is JobState.SUCCEEDED
    return audit_id


def all_rows(client: TestClient, audit_id: str) -> list[dict[str, Any]]:
    rows, cursor = [], {}
    while True:
        page = client.get(f"/audits/{audit_id}/issues", params={"limit": 150, **cursor}).json()
        rows += page["items"]
        if page["next_cursor"] is None:
            return rows
        cursor = {"cursor": page["next_cursor"]}


def test_unlabeled_rows_are_listed_last_with_a_suggestion(client: TestClient, context: ServiceContext) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    wrong = np.arange(400) % 12 == 7
    labels = np.where(np.arange(400) % 10 == 0, "", np.where((x > 0) != wrong, "yes", "no"))
    lines = [f"{a:.4f},{label}" for a, label in zip(x, labels, strict=True)]
    audit_id = audited(client, context, upload(client, "x,y", lines))
    report = client.get(f"/audits/{audit_id}").json()
    assert (report["n_rows"], report["n_unlabeled"]) == (360, 40)
    assert sum(one["given"] for one in report["classes"]) == 360
    rows = all_rows(client, audit_id)
    assert sorted(row["row"] for row in rows) == list(range(400))
    unlabeled = rows[360:]
    assert [row["row"] for row in unlabeled] == list(range(0, 400, 10))
    assert all(row["given_label"] is None and row["quality"] is None and not row["is_issue"] for row in unlabeled)
    assert np.mean([(row["suggested_label"] == "yes") == (x[row["row"]] > 0) for row in unlabeled]) > 0.9
    assert wrong[rows[0]["row"]]
    assert rows[0]["is_issue"]
    table = list(csv.DictReader(io.StringIO(client.get(f"/audits/{audit_id}/issues.csv").text)))
    assert [int(row["row"]) for row in table] == [row["row"] for row in rows]
    assert [table[-1][name] for name in ("given_label", "quality", "is_issue")] == ["", "", "false"]
    flagged = client.get(f"/audits/{audit_id}/issues", params={"flagged": "true", "limit": 200}).json()["items"]
    assert all(row["given_label"] is not None for row in flagged)


def test_the_assumption_and_the_misfit_are_told(client: TestClient, context: ServiceContext) -> None:
    lines = [f"{a:.4f},{int(a > 0)}" for a in np.random.default_rng(1).normal(size=200)]
    report = client.get(f"/audits/{audited(client, context, upload(client, 'x,y', lines))}").json()
    assert "does not depend on the features" in report["assumption"]
    assert 0 <= report["misfit"]["excess"] < 1


def test_groups_keep_copies_of_a_row_from_confirming_each_other(client: TestClient, context: ServiceContext) -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(200, 3))
    wrong = rng.random(200) < 0.2
    labels = np.where((points[:, 0] > 0) != wrong, "yes", "no")
    lines = [",".join([*(f"{a:.4f}" for a in points[i]), f"g{i}", labels[i]]) for i in np.repeat(np.arange(200), 3)]
    rates = []
    for fields in ({"exclude": "g"}, {"group": "g"}):
        audit_id = audited(client, context, upload(client, "a,b,c,g,y", lines, **fields))
        rates.append(client.get(f"/audits/{audit_id}").json()["noise_rate"])
    assert abs(rates[1] - wrong.mean()) < 0.07 < abs(rates[0] - wrong.mean())
