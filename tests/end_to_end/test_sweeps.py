"""Sweeps on two worker processes: concurrent cells, killed workers and cancellation."""

import signal
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.end_to_end.conftest import service_on
from tests.end_to_end.test_main_job import upload
from tests.end_to_end.test_survival import signal_workers
from tests.service_process import RunningService, wait_until

pytestmark = pytest.mark.slow

#: Uses the loss that workers compile at start-up. A cell takes about a second, long enough to observe it running.
FOREST = {"kind": "forest", "n_estimators": 400}
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
def uninterrupted(service: RunningService, dataset: dict[str, Any]) -> dict[str, Any]:
    """Sweep that ran without interruption."""
    return finished_sweep(service, submit(service, dataset, **GRID))


def submit(service: RunningService, dataset: dict[str, Any], **request: Any) -> str:
    status, job = service.request("POST", "/sweeps", {"dataset_id": dataset["id"]} | request)
    assert status == 202, job
    return job["id"]


def finished_sweep(service: RunningService, sweep_id: str) -> dict[str, Any]:
    service.wait_for_job(sweep_id)
    return service.request("GET", f"/sweeps/{sweep_id}")[1]


def cell_jobs(service: RunningService, sweep_id: str) -> list[dict[str, Any]]:
    """Return the jobs of the cells."""
    return service.request("GET", f"/jobs?parent_id={sweep_id}&sort=created_at")[1]["items"]


def wait_for_fits(service: RunningService, sweep_id: str) -> None:
    """Wait until both workers run a cell."""

    def both_workers_are_fitting() -> bool:
        jobs = cell_jobs(service, sweep_id)
        phases = [job["progress"]["phase"] or "" for job in jobs if job["state"] == "running"]
        return sum(phase.startswith("repeat") for phase in phases) == 2

    wait_until(both_workers_are_fitting, 60, f"two cells of sweep {sweep_id} running", longest_pause=0.05)


def scores(sweep: dict[str, Any]) -> list[Any]:
    return [(cell["metric"], cell["mean"], cell["sd"], cell["values"]) for cell in sweep["cells"]]


def test_cells_run_concurrently_and_fill_the_grid(service: RunningService, uninterrupted: dict[str, Any]) -> None:
    assert (uninterrupted["state"], uninterrupted["progress"]["completed"]) == ("succeeded", 6)
    accuracy = [cell["mean"] for cell in uninterrupted["cells"] if cell["metric"] == "accuracy"]
    assert accuracy[0] > 0.75
    assert accuracy[0] > accuracy[2]
    assert all(len(cell["values"]) == 3 and cell["sd"] > 0 for cell in uninterrupted["cells"])
    jobs = cell_jobs(service, uninterrupted["id"])
    assert {job["attempt"] for job in jobs} == {1}
    spans = sorted((job["started_at"], job["finished_at"]) for job in jobs)
    assert any(later[0] < earlier[1] for earlier, later in pairwise(spans))
    assert uninterrupted["started_at"] <= spans[0][0]
    assert uninterrupted["finished_at"] >= max(finished for _, finished in spans)


# Cells of lost workers on both databases: tests/app/jobs/test_children.py and tests/workers/test_stubborn_jobs.py.
@pytest.mark.parametrize("service", ["sqlite"], indirect=True)
def test_killed_workers_cost_attempts_but_no_results(
    service: RunningService, dataset: dict[str, Any], uninterrupted: dict[str, Any]
) -> None:
    sweep_id = submit(service, dataset, **GRID)
    wait_for_fits(service, sweep_id)
    signal_workers(service, signal.SIGKILL)
    sweep = finished_sweep(service, sweep_id)
    assert sweep["state"] == "succeeded", sweep
    assert max(job["attempt"] for job in cell_jobs(service, sweep_id)) == 2
    assert scores(sweep) == scores(uninterrupted)


def test_cancelling_a_sweep_stops_every_cell(service: RunningService, dataset: dict[str, Any]) -> None:
    sweep_id = submit(service, dataset, **LONG)
    wait_for_fits(service, sweep_id)
    status, job = service.request("POST", f"/jobs/{sweep_id}/cancel")
    assert status == 202
    assert job["state"] in ("cancelling", "cancelled")
    assert {cell["state"] for cell in cell_jobs(service, sweep_id)} <= {"cancelling", "cancelled"}
    sweep = finished_sweep(service, sweep_id)
    assert (sweep["state"], {cell["state"] for cell in sweep["cells"]}) == ("cancelled", {"cancelled"})
    assert {cell["mean"] for cell in sweep["cells"]} == {None}
