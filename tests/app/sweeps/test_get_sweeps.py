"""GET /sweeps/{id}: the grid of cells, filled as they finish."""

import statistics
import uuid
from typing import Any

from fastapi.testclient import TestClient

from app.jobs import lease, state_machine
from app.jobs.states import JobState
from app.storage.database import writing
from app.sweeps.service import store_scores
from tests.app.sweeps.test_post_sweeps import NOISE, body
from tests.factories import make_job

SCORES = {"accuracy": [0.5, 0.75, 1.0], "weighted_f1": [0.25, 0.5, 0.25]}


def start(client: TestClient, dataset_id: str, **fields: Any) -> tuple[str, list[str]]:
    """Submit a sweep and return its id and the ids of its cells in their order."""
    sweep_id = client.post("/sweeps", json=body(dataset_id, **fields)).json()["id"]
    return sweep_id, [cell["job_id"] for cell in read(client, sweep_id)["cells"][::2]]


def read(client: TestClient, sweep_id: str) -> dict[str, Any]:
    response = client.get(f"/sweeps/{sweep_id}")
    assert response.status_code == 200, response.text
    return response.json()


def finish(client: TestClient, job_id: str, scores: dict[str, list[float]] | None) -> None:
    """End a cell with these scores, or with a failure if they are None."""
    sessions = client.app.state.context.sessions
    with writing(sessions) as session:
        claim = lease.claim(session, uuid.UUID(job_id), 30)
    assert claim is not None
    with writing(sessions) as session:
        if scores is None:
            assert state_machine.fail(session, claim.job_id, "invalid_input", "one class", fence=claim.attempt)
            return
        store_scores(session, claim.job_id, scores)
        assert state_machine.enter(session, claim.job_id, JobState.SUCCEEDED, fence=claim.attempt)


def test_a_new_sweep_shows_an_empty_grid(client: TestClient, dataset_id: str) -> None:
    sweep_id, jobs = start(client, dataset_id, repeats=3, test_fraction=0.25, seed=9)
    sweep = read(client, sweep_id)
    assert (sweep["id"], sweep["dataset_id"], sweep["state"]) == (sweep_id, dataset_id, "queued")
    assert (sweep["repeats"], sweep["test_fraction"], sweep["seed"], sweep["error"]) == (3, 0.25, 9, None)
    drawn = [(cell["model"]["loss"]["kind"], cell["noise"], cell["metric"]) for cell in sweep["cells"]]
    metrics = ("accuracy", "weighted_f1")
    assert drawn == [(loss, noise, metric) for loss in ("gini", "ne") for noise in NOISE for metric in metrics]
    assert sweep["cells"][-1]["model"]["loss"] == {"kind": "ne", "lambda": 0.25}
    for cell in sweep["cells"]:
        assert (cell["state"], cell["mean"], cell["sd"], cell["values"]) == ("queued", None, None, [])
    assert [cell["job_id"] for cell in sweep["cells"]] == [job for job in jobs for _ in metrics]


def test_cells_are_filled_as_they_finish(client: TestClient, dataset_id: str) -> None:
    sweep_id, jobs = start(client, dataset_id, repeats=3)
    finish(client, jobs[2], SCORES)
    sweep = read(client, sweep_id)
    assert (sweep["state"], sweep["progress"]["completed"], sweep["progress"]["fraction"]) == ("running", 1, 0.25)
    assert 0 <= sweep["progress"]["eta_seconds"] < 60
    accuracy, f1 = sweep["cells"][4:6]
    assert (accuracy["metric"], accuracy["values"]) == ("accuracy", SCORES["accuracy"])
    assert (accuracy["mean"], accuracy["sd"]) == (0.75, 0.25)
    assert (f1["metric"], f1["mean"]) == ("weighted_f1", statistics.fmean(SCORES["weighted_f1"]))
    assert [cell["state"] for cell in sweep["cells"]] == ["queued"] * 4 + ["succeeded"] * 2 + ["queued"] * 2
    for job_id in (jobs[0], jobs[1], jobs[3]):
        finish(client, job_id, SCORES)
    sweep = read(client, sweep_id)
    assert (sweep["state"], {cell["mean"] for cell in sweep["cells"]}) == ("succeeded", {0.75, f1["mean"]})
    job = client.get(f"/jobs/{sweep_id}").json()
    assert job["progress"]["eta_seconds"] == 0
    assert (job["state"], job["result"], job["model_id"]) == ("succeeded", {"href": f"/sweeps/{sweep_id}"}, None)


def test_a_single_repeat_has_no_standard_deviation(client: TestClient, dataset_id: str) -> None:
    sweep_id, jobs = start(client, dataset_id, repeats=1)
    finish(client, jobs[0], {"accuracy": [0.5], "weighted_f1": [0.25]})
    cell = read(client, sweep_id)["cells"][0]
    assert (cell["mean"], cell["sd"], cell["values"]) == (0.5, None, [0.5])


def test_a_failed_cell_shows_its_error_beside_the_others(client: TestClient, dataset_id: str) -> None:
    sweep_id, jobs = start(client, dataset_id)
    for number, job_id in enumerate(jobs):
        finish(client, job_id, SCORES if number else None)
    sweep = read(client, sweep_id)
    assert (sweep["state"], sweep["error"]["code"]) == ("failed", "sweep_cells_failed")
    assert sweep["error"]["message"].startswith("1 of 4 cells failed and 0 were cancelled.")
    assert sweep["cells"][0]["error"] == {"code": "invalid_input", "message": "one class"}
    assert (sweep["cells"][1]["state"], sweep["cells"][1]["mean"]) == ("failed", None)
    assert [cell["mean"] for cell in sweep["cells"][2::2]] == [0.75] * 3


def test_a_cancelled_sweep_keeps_finished_cells(client: TestClient, dataset_id: str) -> None:
    sweep_id, jobs = start(client, dataset_id)
    finish(client, jobs[0], SCORES)
    assert client.post(f"/jobs/{sweep_id}/cancel").json()["state"] == "cancelled"
    sweep = read(client, sweep_id)
    assert (sweep["state"], sweep["error"]) == ("cancelled", None)
    assert [cell["state"] for cell in sweep["cells"]] == ["succeeded"] * 2 + ["cancelled"] * 6
    assert sweep["cells"][0]["values"] == SCORES["accuracy"]


def test_not_found(client: TestClient, dataset_id: str) -> None:
    _, jobs = start(client, dataset_id)
    for other in (uuid.uuid4(), make_job(client.app.state.context), jobs[0]):
        response = client.get(f"/sweeps/{other}")
        assert (response.status_code, response.json()["code"]) == (404, "sweep_not_found")
        assert response.json()["errors"][0]["pointer"] == "path/sweep_id"
    assert "sweep_cell" in response.json()["detail"]


def test_examples_of_the_documentation_are_valid(client: TestClient) -> None:
    operation = client.get("/openapi.json").json()["paths"]["/sweeps"]["post"]
    examples = operation["requestBody"]["content"]["application/json"]["examples"]
    assert len(examples) >= 2
    for example in examples.values():
        # The examples are well-formed: only their data set does not exist.
        response = client.post("/sweeps", json=example["value"])
        assert (response.status_code, response.json()["code"]) == (404, "dataset_not_found")


def test_list_has_sweeps_without_their_cells(client: TestClient, dataset_id: str) -> None:
    sweep_id, jobs = start(client, dataset_id)
    finish(client, jobs[0], SCORES)
    make_job(client.app.state.context)
    (item,) = client.get("/sweeps").json()["items"]
    assert (item["id"], item["dataset_id"], item["state"]) == (sweep_id, dataset_id, "running")
    assert (item["progress"]["completed"], item["progress"]["total"]) == (1, len(jobs))
    assert client.get("/sweeps?state=failed").json()["items"] == []
