"""Audits from the upload to the list of label issues, with killed workers and cancellation."""

import signal
from typing import Any

import numpy as np
import pytest

from tests.end_to_end.conftest import on_one
from tests.end_to_end.test_main_job import upload, wait_for_progress
from tests.end_to_end.test_survival import signal_workers
from tests.service_process import RunningService

pytestmark = [pytest.mark.slow, on_one("postgresql")]

LONG = {"kind": "forest", "n_estimators": 5000, "min_samples_leaf": 5}


@pytest.fixture(scope="module")
def noisy_csv() -> tuple[bytes, set[int]]:
    """Return a table of three well separated classes and the numbers of its mislabeled rows."""
    generator = np.random.default_rng(3)
    n_rows = 1500
    clean = generator.integers(0, 3, n_rows)
    x = 3 * clean[:, np.newaxis] + generator.normal(size=(n_rows, 2))
    mislabeled = set(generator.choice(n_rows, 150, replace=False).tolist())
    labels = [(label + 1) % 3 if row in mislabeled else label for row, label in enumerate(clean)]
    lines = [f"{a:.4f},{b:.4f},{'abc'[label]}" for (a, b), label in zip(x, labels, strict=True)]
    return "\n".join(["x1,x2,label", *lines]).encode(), mislabeled


@pytest.fixture(scope="module")
def dataset(service: RunningService, noisy_csv: tuple[bytes, set[int]]) -> dict[str, Any]:
    return upload(service, noisy_csv[0], target="label")


def submit(service: RunningService, dataset: dict[str, Any], **request: Any) -> dict[str, Any]:
    status, job = service.request("POST", "/audits", {"dataset_id": dataset["id"], **request})
    assert status == 202, job
    return job


def completed_audit(service: RunningService, job_id: str) -> dict[str, Any]:
    job = service.wait_for_job(job_id)
    assert job["state"] == "succeeded", job
    status, audit = service.request("GET", job["result"]["href"])
    assert status == 200, audit
    return audit


def test_mislabeled_rows_are_flagged(
    service: RunningService, dataset: dict[str, Any], noisy_csv: tuple[bytes, set[int]]
) -> None:
    audit = completed_audit(service, submit(service, dataset)["id"])
    assert audit["noise_rate"] == pytest.approx(0.1, abs=4 * audit["noise_rate_error"] + 0.01)
    assert {(pair["clean"], pair["given"]) for pair in audit["confused"][:3]} == {("a", "b"), ("b", "c"), ("c", "a")}
    flagged: set[int] = set()
    cursor = ""
    while True:
        page = service.request("GET", f"/audits/{audit['id']}/issues?flagged=true&limit=100{cursor}")[1]
        flagged |= {item["row"] for item in page["items"]}
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    mislabeled = noisy_csv[1]
    assert len(flagged & mislabeled) > 0.85 * len(mislabeled)
    assert len(flagged - mislabeled) < 0.15 * len(mislabeled)


def test_killed_worker_costs_one_attempt(service: RunningService, dataset: dict[str, Any]) -> None:
    uninterrupted = completed_audit(service, submit(service, dataset, model=LONG, seed=5)["id"])
    job = submit(service, dataset, model=LONG, seed=5)
    wait_for_progress(service, job["id"])
    signal_workers(service, signal.SIGKILL)
    retried = completed_audit(service, job["id"])
    assert service.request("GET", f"/jobs/{job['id']}")[1]["attempt"] == 2
    assert {**retried, "id": ""} == {**uninterrupted, "id": ""}


def test_running_audit_can_be_cancelled(service: RunningService, dataset: dict[str, Any]) -> None:
    job = submit(service, dataset, model=LONG, folds=20)
    wait_for_progress(service, job["id"])
    assert service.request("POST", f"/jobs/{job['id']}/cancel")[0] == 202
    assert service.wait_for_job(job["id"], 20)["state"] == "cancelled"
    assert service.request("GET", f"/audits/{job['id']}")[0] == 409
