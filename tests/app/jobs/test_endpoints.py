"""GET /jobs, GET /jobs/{id}, POST /jobs/{id}/cancel."""

import uuid

import pytest
from fastapi.testclient import TestClient

from app.jobs import lease, state_machine
from app.jobs.states import JobState
from app.storage.database import writing
from tests.factories import make_job


def _claimed(client: TestClient) -> lease.Claim:
    context = client.app.state.context
    job_id = make_job(context)
    with writing(context.sessions) as session:
        claimed = lease.claim(session, job_id, 30)
    assert claimed is not None
    return claimed


class TestListJobs:
    def test_pages_through_all_without_repeating(self, client: TestClient) -> None:
        made = {str(make_job(client.app.state.context)) for _ in range(5)}
        seen: list[str] = []
        cursor = None
        while True:
            page = client.get("/jobs", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
            seen += [job["id"] for job in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert len(seen) == 5
        assert set(seen) == made

    def test_newest_first(self, client: TestClient) -> None:
        made = [str(make_job(client.app.state.context)) for _ in range(3)]
        assert [job["id"] for job in client.get("/jobs").json()["items"]] == made[::-1]
        assert [job["id"] for job in client.get("/jobs?sort=created_at").json()["items"]] == made

    def test_filters(self, client: TestClient) -> None:
        claimed = _claimed(client)
        make_job(client.app.state.context)
        running = client.get("/jobs?state=running").json()["items"]
        assert [job["id"] for job in running] == [str(claimed.job_id)]
        assert client.get("/jobs?state=failed").json()["items"] == []

    @pytest.mark.parametrize(
        ("query", "code"),
        [
            ("sort=colour", "unknown_sort"),
            ("cursor=zzz", "invalid_cursor"),
            ("limit=0", "invalid_request"),
            ("limit=201", "invalid_request"),
            ("state=lost", "invalid_request"),
            ("kind=training", "invalid_request"),
        ],
    )
    def test_refuses(self, client: TestClient, query: str, code: str) -> None:
        response = client.get(f"/jobs?{query}")
        assert (response.status_code, response.json()["code"]) == (422, code)

    @pytest.mark.parametrize(
        ("query", "sentence"),
        [
            ("state=running,", "state is 'running,'; did you mean 'running'? It must be 'queued', 'running', "),
            ("kind=sweeps", "kind is 'sweeps'; did you mean 'sweep'? It must be 'train', 'audit', 'sweep', "),
        ],
    )
    def test_names_the_known_state_or_kind_that_is_meant(self, client: TestClient, query: str, sentence: str) -> None:
        assert client.get(f"/jobs?{query}").json()["errors"][0]["detail"].startswith(sentence)


class TestGetJob:
    def test_not_found(self, client: TestClient) -> None:
        response = client.get(f"/jobs/{uuid.uuid4()}")
        assert (response.status_code, response.json()["code"]) == (404, "job_not_found")

    def test_before_a_worker_has_claimed_it(self, client: TestClient) -> None:
        job = client.get(f"/jobs/{make_job(client.app.state.context)}").json()
        assert (job["state"], job["started_at"], job["model_id"], job["error"]) == ("queued", None, None, None)
        assert job["progress"]["fraction"] == 0
        assert job["created_at"].endswith("Z")

    def test_failed_has_code_and_message(self, client: TestClient) -> None:
        claimed = _claimed(client)
        with writing(client.app.state.context.sessions) as session:
            state_machine.fail(session, claimed.job_id, "single_class", "only one class", fence=claimed.attempt)
        job = client.get(f"/jobs/{claimed.job_id}").json()
        assert (job["state"], job["error"]) == ("failed", {"code": "single_class", "message": "only one class"})


class TestCancelJob:
    def test_queued_is_cancelled_at_once_also_repeatedly(self, client: TestClient) -> None:
        job_id = make_job(client.app.state.context)
        for _ in range(2):
            response = client.post(f"/jobs/{job_id}/cancel")
            assert (response.status_code, response.json()["state"]) == (202, "cancelled")

    def test_running_is_asked_to_stop_only_once(self, client: TestClient) -> None:
        claimed = _claimed(client)
        for _ in range(2):
            response = client.post(f"/jobs/{claimed.job_id}/cancel")
            assert (response.status_code, response.json()["state"]) == (202, "cancelling")

    @pytest.mark.parametrize("target", [JobState.SUCCEEDED, JobState.FAILED])
    def test_finished_is_a_conflict(self, client: TestClient, target: JobState) -> None:
        claimed = _claimed(client)
        error = {"error_code": "x", "error_message": "y"} if target is JobState.FAILED else {}
        with writing(client.app.state.context.sessions) as session:
            assert state_machine.enter(session, claimed.job_id, target, fence=claimed.attempt, **error)
        response = client.post(f"/jobs/{claimed.job_id}/cancel")
        assert (response.status_code, response.json()["code"]) == (409, "job_already_finished")

    def test_not_found(self, client: TestClient) -> None:
        assert client.post(f"/jobs/{uuid.uuid4()}/cancel").status_code == 404
