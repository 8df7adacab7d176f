"""DELETE /jobs/{id}, /audits/{id} and /sweeps/{id}, and what is deleted with a data set."""

import uuid

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.audits.tables import AuditRow
from app.jobs import lease
from app.jobs.states import JobKind
from app.jobs.tables import JobEventRow, JobRow
from app.storage.database import reading, writing
from tests.factories import job, make_job, make_sweep
from tests.stored_files import put


def n_rows(client: TestClient, table: type[JobRow] | type[JobEventRow]) -> int:
    with reading(client.app.state.context.sessions) as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def test_ended_job_goes_with_its_events_and_frees_its_key(client: TestClient) -> None:
    context = client.app.state.context
    job_id = make_job(context, key="first")
    client.post(f"/jobs/{job_id}/cancel")
    assert client.delete(f"/jobs/{job_id}").status_code == 204
    assert client.get(f"/jobs/{job_id}").status_code == 404
    assert n_rows(client, JobRow) == n_rows(client, JobEventRow) == 0
    assert make_job(context, key="first", request={"name": "another"}) != job_id


@pytest.mark.parametrize("route", ["jobs", "audits"])
def test_the_file_of_an_audit_goes_at_once(client: TestClient, route: str) -> None:
    context = client.app.state.context
    job_id = make_job(context, kind=JobKind.AUDIT)
    client.post(f"/jobs/{job_id}/cancel")
    issues = put(context.issue_store, lambda path: path.write_bytes(b"issues"))
    columns = {"classes": [0, 1], "n_rows": 2, "n_issues": 0, "report": {}, "issues_sha256": issues.sha256}
    with writing(context.sessions) as session:
        session.add(AuditRow(job_id=job_id, **columns))
    assert client.delete(f"/{route}/{job_id}").status_code == 204
    assert not context.issue_store.holds(issues.sha256)


@pytest.mark.parametrize("claim", [False, True])
def test_unfinished_job_stays(client: TestClient, claim: bool) -> None:
    context = client.app.state.context
    job_id = make_job(context)
    if claim:
        with writing(context.sessions) as session:
            assert lease.claim(session, job_id, 30)
    response = client.delete(f"/jobs/{job_id}")
    assert (response.status_code, response.json()["code"]) == (409, "job_not_finished")
    assert client.get(f"/jobs/{job_id}").status_code == 200


@pytest.mark.parametrize("route", ["jobs", "sweeps"])
def test_sweep_goes_with_its_cells_which_do_not_go_alone(client: TestClient, route: str) -> None:
    queued = make_sweep(client.app.state.context, 3)
    sweep_id, cell_id = queued.job.id, queued.children[0].id
    client.post(f"/jobs/{sweep_id}/cancel")
    response = client.delete(f"/jobs/{cell_id}")
    assert (response.status_code, response.json()["code"]) == (409, "child_job_not_deletable")
    assert str(sweep_id) in response.json()["detail"]
    assert client.delete(f"/{route}/{sweep_id}").status_code == 204
    assert n_rows(client, JobRow) == 0


@pytest.mark.parametrize(
    ("route", "code"), [("jobs", "job_not_found"), ("audits", "audit_not_found"), ("sweeps", "sweep_not_found")]
)
def test_what_is_not_there_is_not_found(client: TestClient, route: str, code: str) -> None:
    assert client.delete(f"/{route}/{uuid.uuid4()}").json()["code"] == code


@pytest.mark.parametrize("route", ["audits", "sweeps"])
def test_routes_of_a_kind_keep_jobs_of_other_kinds(client: TestClient, route: str) -> None:
    job_id = make_job(client.app.state.context, kind=JobKind.TRAIN)
    client.post(f"/jobs/{job_id}/cancel")
    assert client.delete(f"/{route}/{job_id}").status_code == 404
    assert job(client.app.state.context, job_id).kind is JobKind.TRAIN
