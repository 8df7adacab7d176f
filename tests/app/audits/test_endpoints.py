"""Routes of audits, whose jobs run in this process: accepted and refused requests, and reading the results."""

import csv
import io
import os
import time
import uuid
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.audits.service import remove_unreferenced
from app.context import ServiceContext
from app.jobs.states import JobState
from tests.factories import job, make_dataset, make_job
from tests.job_attempts import attempt_job
from tests.stored_files import put
from tests.workers.training_runs import store
from workers.auditing import audit

QUICK = {"kind": "forest", "n_estimators": 40, "min_samples_leaf": 5}


@pytest.fixture
def context(client: TestClient) -> ServiceContext:
    return client.app.state.context


def table(labels: tuple[Any, Any] = ("no", "yes"), n_rows: int = 300) -> dict[str, list[Any]]:
    """Return a table of two well separated classes in which every twelfth label is wrong."""
    x = np.random.default_rng(0).normal(size=n_rows)
    y = [labels[int((value > 0) != (row % 12 == 0))] for row, value in enumerate(x)]
    return {"x": x.tolist(), "y": y}


def submitted(client: TestClient, dataset_id: Any, **request: Any) -> dict[str, Any]:
    response = client.post("/audits", json={"dataset_id": str(dataset_id), "model": QUICK, **request})
    assert response.status_code == 202, response.text
    assert response.headers["Location"] == f"/jobs/{response.json()['id']}"
    return response.json()


def audited(client: TestClient, context: ServiceContext, columns: dict[str, list[Any]], **request: Any) -> str:
    """Run an audit and return its id."""
    audit_id = submitted(client, store(context, columns), **request)["id"]
    attempt_job(context, uuid.UUID(audit_id), audit)
    ended = job(context, uuid.UUID(audit_id))
    assert ended.state is JobState.SUCCEEDED, (ended.error_code, ended.error_message)
    return audit_id


def all_rows(client: TestClient, audit_id: str, **query: Any) -> list[dict[str, Any]]:
    found, cursor = [], None
    while True:
        parameters = query | ({"cursor": cursor} if cursor else {})
        page = client.get(f"/audits/{audit_id}/issues", params=parameters).json()
        found += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            assert page["total"] == len(found)
            return found


class TestResult:
    def test_finds_wrong_labels_and_suggests_the_right_ones(self, client: TestClient, context: ServiceContext) -> None:
        columns = table()
        audit_id = audited(client, context, columns)
        found = client.get(f"/audits/{audit_id}").json()
        assert found["id"] == audit_id
        assert (found["n_rows"], found["n_judged"], found["method"]) == (300, 300, "out_of_bag")
        assert found["noise_rate"] == pytest.approx(1 / 12, abs=0.04)
        assert found["n_wrong"] == pytest.approx(300 * found["noise_rate"])
        assert found["n_wrong_error"] > 0
        assert [entry["label"] for entry in found["classes"]] == ["no", "yes"]
        assert [entry["given"] for entry in found["classes"]] == [columns["y"].count("no"), columns["y"].count("yes")]
        assert sum(entry["issues"] for entry in found["classes"]) == found["n_issues"]
        np.testing.assert_allclose(np.sum(found["transition"], axis=1), 1)
        assert np.shape(found["transition_error"]) == (2, 2)
        assert {(pair["clean"], pair["given"]) for pair in found["confused"]} == {("no", "yes"), ("yes", "no")}
        issues = all_rows(client, audit_id, flagged="true")
        wrong = {row for row in range(300) if row % 12 == 0}
        assert len(wrong & {issue["row"] for issue in issues}) > 0.8 * len(wrong)
        assert all(issue["suggested_label"] != issue["given_label"] == columns["y"][issue["row"]] for issue in issues)

    def test_pages_contain_every_row_once_worst_first(self, client: TestClient, context: ServiceContext) -> None:
        audit_id = audited(client, context, table())
        rows = all_rows(client, audit_id, limit=7)
        assert sorted(row["row"] for row in rows) == list(range(300))
        assert [row["quality"] for row in rows] == sorted(row["quality"] for row in rows)
        n_issues = client.get(f"/audits/{audit_id}").json()["n_issues"]
        assert [row for row in rows if row["is_issue"]] == all_rows(client, audit_id, flagged="true", limit=200)
        assert len(all_rows(client, audit_id, flagged="false", limit=200)) == 300 - n_issues

    @pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (-3, 7), (0.5, 1.5), ('a "b"', "c,d")], ids=str)
    def test_the_file_has_the_content_of_the_pages(
        self, client: TestClient, context: ServiceContext, labels: tuple[Any, Any]
    ) -> None:
        audit_id = audited(client, context, table(labels))
        response = client.get(f"/audits/{audit_id}/issues.csv")
        assert response.headers["content-type"].startswith("text/csv")
        lines = list(csv.DictReader(io.StringIO(response.text)))
        rows = all_rows(client, audit_id, limit=200)
        assert {type(row["given_label"]) for row in rows} == {type(labels[0])}
        assert len(lines) == len(rows) == 300
        for line, row in zip(lines, rows, strict=True):
            as_text = {name: _text(value) for name, value in row.items() if name != "quality"}
            assert line == as_text | {"quality": line["quality"]}
            assert float(line["quality"]) == row["quality"]
        flagged = client.get(f"/audits/{audit_id}/issues.csv", params={"flagged": "true"}).text
        assert len(flagged.splitlines()) == 1 + client.get(f"/audits/{audit_id}").json()["n_issues"]

    def test_folds_of_another_model(self, client: TestClient, context: ServiceContext) -> None:
        audit_id = audited(client, context, table(), model={"kind": "tree", "min_samples_leaf": 10}, folds=4, seed=3)
        assert client.get(f"/audits/{audit_id}").json()["method"] == "folds"
        ended = client.get(f"/jobs/{audit_id}").json()
        assert ended["progress"]["phase"] == "estimating noise"
        assert ended["progress"]["fraction"] == 1.0
        assert ended["result"] == {"href": f"/audits/{audit_id}"}

    def test_the_same_seed_gives_the_same_file(self, client: TestClient, context: ServiceContext) -> None:
        texts = [
            client.get(f"/audits/{audited(client, context, table(), seed=seed)}/issues.csv").text for seed in (1, 1, 2)
        ]
        assert texts[0] == texts[1] != texts[2]


class TestLists:
    def test_shows_the_figures_of_those_that_have_some(self, client: TestClient, context: ServiceContext) -> None:
        done = audited(client, context, table())
        waiting = submitted(client, store(context, table(("a", "b"))))["id"]
        first, second = client.get("/audits").json()["items"]
        assert (first["id"], first["state"], first["progress"]["phase"]) == (waiting, "queued", "queued")
        assert (first["n_issues"], first["noise_rate"]) == (None, None)
        whole = client.get(f"/audits/{done}").json()
        figures = ("n_rows", "n_issues", "noise_rate", "noise_rate_error")
        assert {name: second[name] for name in figures} == {name: whole[name] for name in figures}
        assert [item["id"] for item in client.get("/audits?state=succeeded").json()["items"]] == [done]
        of_dataset = client.get("/audits", params={"dataset_id": whole["dataset_id"]}).json()["items"]
        assert [item["id"] for item in of_dataset] == [done]


class TestDeletion:
    def test_goes_with_its_file(self, client: TestClient, context: ServiceContext) -> None:
        audit_id = audited(client, context, table())
        assert list(context.settings.issues_folder.rglob("*.arrow"))
        assert client.delete(f"/audits/{audit_id}").status_code == 204
        assert client.get(f"/audits/{audit_id}").status_code == 404
        assert client.get(f"/jobs/{audit_id}").status_code == 404
        assert not list(context.settings.issues_folder.rglob("*.arrow"))

    def test_its_result_goes_with_the_data_set(self, client: TestClient, context: ServiceContext) -> None:
        audit_id = audited(client, context, table())
        dataset_id = client.get(f"/audits/{audit_id}").json()["dataset_id"]
        assert client.delete(f"/datasets/{dataset_id}").status_code == 204
        for path in ("", "/issues", "/issues.csv"):
            response = client.get(f"/audits/{audit_id}{path}")
            assert (response.status_code, response.json()["code"]) == (404, "audit_not_found")
        assert client.get("/audits").json()["items"][0]["n_issues"] is None
        assert client.get(f"/jobs/{audit_id}").json()["state"] == "succeeded"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class TestSubmission:
    def test_the_model_may_be_given_by_its_kind(self, client: TestClient, context: ServiceContext) -> None:
        dataset_id = store(context, table())
        assert submitted(client, dataset_id, model="extra_trees")["request"]["model"]["kind"] == "extra_trees"

    def test_fills_in_the_default_forest(self, client: TestClient) -> None:
        dataset_id = str(make_dataset(client.app.state.context))
        request = client.post("/audits", json={"dataset_id": dataset_id}).json()["request"]
        assert (request["dataset_id"], request["folds"], request["seed"]) == (dataset_id, None, 0)
        assert (request["model"]["kind"], request["model"]["min_samples_leaf"]) == ("forest", 5)

    def test_the_same_key_gives_the_same_audit(self, client: TestClient, context: ServiceContext) -> None:
        body, headers = {"dataset_id": str(make_dataset(context))}, {"Idempotency-Key": "once"}
        first, again = (client.post("/audits", json=body, headers=headers) for _ in range(2))
        assert first.json()["id"] == again.json()["id"]
        other = client.post("/audits", json=body | {"seed": 1}, headers=headers)
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")

    @pytest.mark.parametrize(
        ("change", "pointer"),
        [
            ({"folds": 1}, "/folds"),
            ({"folds": 101}, "/folds"),
            ({"folds": "5"}, "/folds"),
            ({"seed": -1}, "/seed"),
            ({"model": {"kind": "forest", "n_estimators": 0}}, "/model/n_estimators"),
            ({"colour": "red"}, "/colour"),
            ({"folds": 90}, "/folds"),
            ({"model": {"kind": "forest", "n_estimators": 10_001}}, "/model/n_estimators"),
            ({"model": {"kind": "tree", "class_weight": {"1": 2.0}}}, "/model/class_weight"),
            ({"model": {"kind": "forest", "class_weight": "balanced"}}, "/model/class_weight"),
            ({"model": {"kind": "adaboost", "class_weight": {"0": 0.0}}}, "/model/class_weight"),
        ],
        ids=str,
    )
    def test_errors_point_at_the_field(self, client: TestClient, change: dict[str, Any], pointer: str) -> None:
        dataset_id = str(make_dataset(client.app.state.context, n_rows=80))
        response = client.post("/audits", json={"dataset_id": dataset_id, **change})
        assert response.status_code == 422
        assert [error["pointer"] for error in response.json()["errors"]] == [pointer]

    def test_a_booster_needs_two_classes_in_every_training_part(self, client: TestClient) -> None:
        classes = [{"label": "a", "count": 59}, {"label": "rare", "count": 1}]
        dataset_id = str(make_dataset(client.app.state.context, n_rows=60, classes=classes))
        response = client.post("/audits", json={"dataset_id": dataset_id, "model": {"kind": "rmboost"}})
        assert (response.status_code, response.json()["code"]) == (422, "invalid_audit_request")
        assert [error["pointer"] for error in response.json()["errors"]] == ["/model/kind"]
        assert client.post("/audits", json={"dataset_id": dataset_id}).status_code == 202

    def test_more_votes_than_fit_into_memory(self, client: TestClient) -> None:
        classes = [{"label": label, "count": 25_000} for label in range(400)]
        dataset_id = make_dataset(client.app.state.context, n_rows=10_000_000, classes=classes)
        response = client.post("/audits", json={"dataset_id": str(dataset_id)})
        assert (response.status_code, response.json()["code"]) == (422, "invalid_audit_request")
        assert "10000000 rows times 400 classes" in response.json()["detail"]

    @pytest.mark.parametrize("model", [{}, {"model": {"kind": "tree"}, "folds": 2}], ids=["usual", "folds of a tree"])
    def test_too_few_rows(self, client: TestClient, context: ServiceContext, model: dict[str, Any]) -> None:
        eight = [{"label": name, "count": 3} for name in "abcdefgh"]
        few = make_dataset(context, n_rows=23, classes=[*eight[:-1], {"label": "h", "count": 2}])
        response = client.post("/audits", json={"dataset_id": str(few), **model})
        assert (response.status_code, response.json()["code"]) == (422, "invalid_audit_request")
        assert [error["pointer"] for error in response.json()["errors"]] == ["/dataset_id"]
        assert "23 rows of 8 classes are too few" in response.json()["detail"]
        assert "24 are needed: upload more rows" in response.json()["detail"]
        enough = make_dataset(context, n_rows=24, classes=eight)
        assert client.post("/audits", json={"dataset_id": str(enough), **model}).status_code == 202

    def test_an_unknown_data_set(self, client: TestClient) -> None:
        response = client.post("/audits", json={"dataset_id": str(uuid.uuid4())})
        assert (response.status_code, response.json()["code"]) == (404, "dataset_not_found")

    def test_a_data_set_cannot_be_deleted_while_an_audit_needs_it(
        self, client: TestClient, context: ServiceContext
    ) -> None:
        dataset_id = store(context, table())
        job_id = submitted(client, dataset_id)["id"]
        assert client.delete(f"/datasets/{dataset_id}").status_code == 409
        attempt_job(context, uuid.UUID(job_id), audit)
        assert client.delete(f"/datasets/{dataset_id}").status_code == 204
        assert client.get(f"/audits/{job_id}/issues").status_code == 404


class TestReading:
    @pytest.mark.parametrize("page", ["", "/issues", "/issues.csv"])
    def test_an_unknown_audit(self, client: TestClient, context: ServiceContext, page: str) -> None:
        for other in (uuid.uuid4(), make_job(context)):
            response = client.get(f"/audits/{other}{page}")
            problem = response.json()
            assert (response.status_code, problem["code"]) == (404, "audit_not_found")
            assert [error["pointer"] for error in problem["errors"]] == ["path/audit_id"]

    @pytest.mark.parametrize("page", ["", "/issues", "/issues.csv"])
    def test_an_audit_that_is_not_finished(self, client: TestClient, context: ServiceContext, page: str) -> None:
        job_id = submitted(client, make_dataset(context))["id"]
        response = client.get(f"/audits/{job_id}{page}")
        assert (response.status_code, response.json()["code"]) == (409, "audit_not_finished")

    def test_cursors_of_other_lists(self, client: TestClient, context: ServiceContext) -> None:
        audit_id = audited(client, context, table())
        cursor = client.get(f"/audits/{audit_id}/issues?limit=1").json()["next_cursor"]
        jobs_cursor = client.get("/jobs?limit=1").json()["next_cursor"] or "e30="
        for query in (f"cursor={cursor}&flagged=true", f"cursor={jobs_cursor}", "cursor=%00", "cursor=W10="):
            response = client.get(f"/audits/{audit_id}/issues?{query}")
            assert (response.status_code, response.json()["code"]) == (422, "invalid_cursor"), query

    def test_an_unknown_filter(self, client: TestClient, context: ServiceContext) -> None:
        audit_id = audited(client, context, table())
        for page in ("issues", "issues.csv"):
            assert client.get(f"/audits/{audit_id}/{page}?flaged=true").status_code == 422

    def test_a_lost_file_is_an_error_of_the_server(self, client: TestClient, context: ServiceContext) -> None:
        audit_id = audited(client, context, table())
        for path in context.settings.issues_folder.iterdir():
            path.unlink()
        assert client.get(f"/audits/{audit_id}").status_code == 200
        for page in ("issues", "issues.csv"):
            response = client.get(f"/audits/{audit_id}/{page}")
            assert (response.status_code, response.json()["code"]) == (500, "issues_missing")


def test_only_files_without_an_audit_are_deleted(client: TestClient, context: ServiceContext) -> None:
    audit_id = audited(client, context, table())
    orphan = put(context.issue_store, lambda path: path.write_bytes(b"unreferenced"))
    two_days_ago = time.time() - 2 * 24 * 3600
    for path in context.settings.issues_folder.iterdir():
        os.utime(path, (two_days_ago, two_days_ago))
    assert remove_unreferenced(context.sessions, context.issue_store) == 1
    assert not context.issue_store.holds(orphan.sha256)
    assert client.get(f"/audits/{audit_id}/issues").status_code == 200
