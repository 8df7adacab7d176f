"""Audits from the upload to the list of wrong labels, with lost workers and cancellation."""

import signal
from typing import Any

import numpy as np
import pytest

from tests.end_to_end.test_main_job import upload, wait_for_progress
from tests.service_process import RunningService

LONG = {"kind": "forest", "n_estimators": 5000, "min_samples_leaf": 5}


@pytest.fixture(scope="module")
def noisy_csv() -> tuple[bytes, set[int]]:
    """Return a table of three well separated classes and the numbers of its mislabeled rows."""
    generator = np.random.default_rng(3)
    n_rows = 1500
    right = generator.integers(0, 3, n_rows)
    x = 3 * right[:, np.newaxis] + generator.normal(size=(n_rows, 2))
    wrong = set(generator.choice(n_rows, 150, replace=False).tolist())
    given = [(label + 1) % 3 if row in wrong else label for row, label in enumerate(right)]
    lines = [f"{a:.4f},{b:.4f},{'abc'[label]}" for (a, b), label in zip(x, given, strict=True)]
    return "\n".join(["x1,x2,label", *lines]).encode(), wrong


@pytest.fixture(scope="module")
def dataset(service: RunningService, noisy_csv: tuple[bytes, set[int]]) -> dict[str, Any]:
    return upload(service, noisy_csv[0], target="label")


def submit(service: RunningService, dataset: dict[str, Any], **request: Any) -> dict[str, Any]:
    status, job = service.request("POST", "/audits", {"dataset_id": dataset["id"], **request})
    assert status == 202, job
    return job


def finished(service: RunningService, job_id: str) -> dict[str, Any]:
    job = service.wait_for_job(job_id)
    assert job["state"] == "succeeded", job
    status, audit = service.request("GET", job["result"]["href"])
    assert status == 200, audit
    return audit


def test_the_wrong_labels_are_found(
    service: RunningService, dataset: dict[str, Any], noisy_csv: tuple[bytes, set[int]]
) -> None:
    audit = finished(service, submit(service, dataset)["id"])
    assert audit["noise_rate"] == pytest.approx(0.1, abs=4 * audit["noise_rate_error"] + 0.01)
    assert {(pair["clean"], pair["given"]) for pair in audit["confused"][:3]} == {("a", "b"), ("b", "c"), ("c", "a")}
    found: set[int] = set()
    cursor = ""
    while True:
        page = service.request("GET", f"/audits/{audit['id']}/issues?flagged=true&limit=100{cursor}")[1]
        found |= {item["row"] for item in page["items"]}
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    wrong = noisy_csv[1]
    assert len(found & wrong) > 0.85 * len(wrong)
    assert len(found - wrong) < 0.15 * len(wrong)


def test_a_killed_worker_costs_one_attempt_only(service: RunningService, dataset: dict[str, Any]) -> None:
    undisturbed = finished(service, submit(service, dataset, model=LONG, seed=5)["id"])
    job = submit(service, dataset, model=LONG, seed=5)
    wait_for_progress(service, job["id"])
    for process in service.processes("workers"):
        process.send_signal(signal.SIGKILL)
    again = finished(service, job["id"])
    assert service.request("GET", f"/jobs/{job['id']}")[1]["attempt"] == 2
    assert {**again, "id": ""} == {**undisturbed, "id": ""}


def test_a_running_audit_is_cancelled(service: RunningService, dataset: dict[str, Any]) -> None:
    job = submit(service, dataset, model=LONG, folds=20)
    wait_for_progress(service, job["id"])
    assert service.request("POST", f"/jobs/{job['id']}/cancel")[0] == 202
    assert service.wait_for_job(job["id"], 20)["state"] == "cancelled"
    assert service.request("GET", f"/audits/{job['id']}")[0] == 409
