"""Sweeps on two worker processes: concurrent cells, lost workers and cancellation."""

import signal
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.end_to_end.conftest import service_on
from tests.end_to_end.test_main_job import upload
from tests.end_to_end.test_survival import signal_workers
from tests.service_process import RunningService, wait_until

#: With the loss that workers compile at their start. A cell takes about a second: it is met while it runs.
FOREST = {"kind": "forest", "n_estimators": 200}
GRID = {
    "models": [FOREST, {"kind": "tree", "max_depth": 4}],
    "noise": [{"kind": "uniform", "rate": rate} for rate in (0.0, 0.2, 0.4)],
    "repeats": 3,
    "seed": 5,
}
LONG = {"models": [FOREST | {"n_estimators": 4000}], "noise": GRID["noise"], "repeats": 10}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    workers = {"BRISTLECONE_WORKER_PROCESSES": "2", "BRISTLECONE_THREADS_PER_JOB": "1"}
    with service_on(request.param, request, tmp_path_factory, **workers) as running:
        yield running


@pytest.fixture(scope="module")
def dataset(service: RunningService, table_csv: bytes) -> dict[str, Any]:
    return upload(service, table_csv)


@pytest.fixture(scope="module")
def undisturbed(service: RunningService, dataset: dict[str, Any]) -> dict[str, Any]:
    """An undisturbed sweep."""
    return ended(service, submit(service, dataset, **GRID))


def submit(service: RunningService, dataset: dict[str, Any], **request: Any) -> str:
    status, job = service.request("POST", "/sweeps", {"dataset_id": dataset["id"]} | request)
    assert status == 202, job
    return job["id"]


def ended(service: RunningService, sweep_id: str) -> dict[str, Any]:
    service.wait_for_job(sweep_id)
    return service.request("GET", f"/sweeps/{sweep_id}")[1]


def cells_of(service: RunningService, sweep_id: str) -> list[dict[str, Any]]:
    """Return the jobs of the cells."""
    return service.request("GET", f"/jobs?parent_id={sweep_id}&sort=created_at")[1]["items"]


def wait_for_fits(service: RunningService, sweep_id: str) -> None:
    """Wait until both workers run a cell."""

    def under_way() -> bool:
        phases = [cell["progress"]["phase"] or "" for cell in cells_of(service, sweep_id) if cell["state"] == "running"]
        return sum(phase.startswith("repeat") for phase in phases) == 2

    wait_until(under_way, 60, f"two cells of sweep {sweep_id} running")


def scores(sweep: dict[str, Any]) -> list[Any]:
    return [(cell["metric"], cell["mean"], cell["sd"], cell["values"]) for cell in sweep["cells"]]


def test_cells_run_concurrently_and_fill_the_grid(service: RunningService, undisturbed: dict[str, Any]) -> None:
    assert (undisturbed["state"], undisturbed["progress"]["completed"]) == ("succeeded", 6)
    accuracy = [cell["mean"] for cell in undisturbed["cells"] if cell["metric"] == "accuracy"]
    assert accuracy[0] > 0.75
    assert accuracy[0] > accuracy[2]
    assert all(len(cell["values"]) == 3 and cell["sd"] > 0 for cell in undisturbed["cells"])
    jobs = cells_of(service, undisturbed["id"])
    assert {job["attempt"] for job in jobs} == {1}
    spans = sorted((job["started_at"], job["finished_at"]) for job in jobs)
    assert any(later[0] < earlier[1] for earlier, later in pairwise(spans))
    assert undisturbed["started_at"] <= spans[0][0]
    assert undisturbed["finished_at"] >= max(finished for _, finished in spans)


def test_killed_workers_cost_attempts_only(
    service: RunningService, dataset: dict[str, Any], undisturbed: dict[str, Any]
) -> None:
    sweep_id = submit(service, dataset, **GRID)
    wait_for_fits(service, sweep_id)
    signal_workers(service, signal.SIGKILL)
    sweep = ended(service, sweep_id)
    assert sweep["state"] == "succeeded", sweep
    assert max(job["attempt"] for job in cells_of(service, sweep_id)) == 2
    assert scores(sweep) == scores(undisturbed)


def test_cancelling_stops_every_cell(service: RunningService, dataset: dict[str, Any]) -> None:
    sweep_id = submit(service, dataset, **LONG)
    wait_for_fits(service, sweep_id)
    status, job = service.request("POST", f"/jobs/{sweep_id}/cancel")
    assert (status, job["state"]) == (202, "cancelling")
    assert {cell["state"] for cell in cells_of(service, sweep_id)} <= {"cancelling", "cancelled"}
    sweep = ended(service, sweep_id)
    assert (sweep["state"], {cell["state"] for cell in sweep["cells"]}) == ("cancelled", {"cancelled"})
    assert {cell["mean"] for cell in sweep["cells"]} == {None}
