"""The main use of the service: upload a table with label noise, train a robust model, and predict over HTTP."""

import time
import urllib.parse
import uuid
from typing import Any

import pytest

from app.operations.loopback import open_loopback
from tests.service_process import RunningService, wait_until

pytestmark = pytest.mark.slow

ROW = {"x1": 1.5, "x2": 0.3, "x3": None, "x4": 0.0, "x5": -1.2, "x6": 0.7, "colour": "red"}
LONG_MODEL = {"kind": "forest", "n_estimators": 4000, "loss": "entropy"}


def upload(service: RunningService, table: bytes, target: str = "quality") -> dict[str, Any]:
    boundary = uuid.uuid4().hex
    fields = [("target", None, target.encode()), ("name", None, b"made table"), ("file", "table.csv", table)]
    parts = [
        b'--%s\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
        % (boundary.encode(), name.encode(), f'; filename="{file}"'.encode() if file else b"", value)
        for name, file, value in fields
    ]
    body = b"".join(parts) + f"--{boundary}--\r\n".encode()
    status, dataset = service.request(
        "POST", "/datasets", body, {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    )
    assert status in (200, 201), dataset
    return dataset


def submit(service: RunningService, dataset: dict[str, Any], **request: Any) -> dict[str, Any]:
    status, job = service.request("POST", "/train", {"dataset_id": dataset["id"]} | request)
    assert status == 202, job
    return job


def wait_for_progress(service: RunningService, job_id: str) -> None:
    def has_progress() -> bool:
        job = service.request("GET", f"/jobs/{job_id}")[1]
        assert job["state"] in ("queued", "running"), job
        phase = job["progress"]["phase"] or ""
        return phase.endswith(("growing", "boosting")) and job["progress"]["completed"] > 0

    # The job must not end between the progress and what the test does then.
    wait_until(has_progress, 60, f"progress of job {job_id}", longest_pause=0.05)


def trained_model(service: RunningService, job: dict[str, Any]) -> dict[str, Any]:
    assert job["state"] == "succeeded", job
    status, model = service.request("GET", f"/models/{job['model_id']}")
    assert status == 200, model
    return model


def artifact(service: RunningService, model: dict[str, Any]) -> bytes:
    with open_loopback(f"{service.url}/models/{model['id']}/artifact") as response:
        return response.read()


@pytest.fixture(scope="module")
def dataset(service: RunningService, table_csv: bytes) -> dict[str, Any]:
    return upload(service, table_csv)


def test_uploaded_table_is_trained_on_and_predicted(service: RunningService, dataset: dict[str, Any]) -> None:
    assert [entry["label"] for entry in dataset["classes"]] == ["fair", "good", "poor"]
    request = {
        "name": "quality",
        "model": {"kind": "forest", "n_estimators": 30, "loss": {"kind": "ne", "lambda": 0.5}},
        "noise": {"inject": {"kind": "uniform", "rate": 0.3}},
        "seed": 3,
    }
    model = trained_model(service, service.wait_for_job(submit(service, dataset, **request)["id"]))
    injected = model["noise"]["injected"]
    assert (injected["kind"], injected["rate"]) == ("uniform", 0.3)
    assert abs(injected["observed_rate"] - 0.3) < 0.04
    assert model["metrics"]["test"]["accuracy"] > 0.75
    assert model["metrics"]["test"]["n_rows"] == 600

    query = urllib.parse.urlencode({key: "" if value is None else value for key, value in ROW.items()})
    status, single = service.request("GET", f"/predict?model=quality&{query}")
    assert status == 200, single
    assert single["label"] == "good"
    assert sum(single["probabilities"].values()) == pytest.approx(1)
    status, many = service.request("POST", "/predict", {"model": model["id"], "rows": [ROW, ROW]})
    assert status == 200, many
    assert [prediction["probabilities"] for prediction in many["predictions"]] == [single["probabilities"]] * 2


def test_adaptive_loss_reports_the_chosen_lambda(service: RunningService, dataset: dict[str, Any]) -> None:
    job = submit(service, dataset, model={"kind": "forest", "n_estimators": 10, "loss": "adaptive_ne"})
    model = trained_model(service, service.wait_for_job(job["id"]))
    tried = [entry["lambda"] for entry in model["fitted"]["tuning_scores"]]
    assert tried == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert model["fitted"]["lambda"] in tried


def test_progress_rises_until_completion(service: RunningService, dataset: dict[str, Any]) -> None:
    job = submit(service, dataset, model=LONG_MODEL, evaluation={"kind": "none"})
    seen = []
    while (job := service.request("GET", f"/jobs/{job['id']}")[1])["state"] in ("queued", "running"):
        seen.append(job["progress"]["fraction"])
        time.sleep(0.1)
    assert job["state"] == "succeeded"
    assert len({fraction for fraction in seen if 0 < fraction < 1}) >= 3
    assert seen == sorted(seen)
    assert job["progress"]["fraction"] == 1.0


def test_running_job_can_be_cancelled(service: RunningService, dataset: dict[str, Any]) -> None:
    job = submit(service, dataset, name="never-made", model=LONG_MODEL)
    wait_for_progress(service, job["id"])
    status, cancelled = service.request("POST", f"/jobs/{job['id']}/cancel")
    assert status == 202
    assert cancelled["state"] in ("cancelling", "cancelled")
    assert service.wait_for_job(job["id"], 20)["state"] == "cancelled"
    assert service.request("GET", "/models?name=never-made")[1]["items"] == []
    assert service.request("POST", f"/jobs/{job['id']}/cancel")[0] == 202


def test_finished_job_cannot_be_cancelled(service: RunningService, dataset: dict[str, Any]) -> None:
    job = service.wait_for_job(submit(service, dataset, model={"kind": "tree"})["id"])
    status, problem = service.request("POST", f"/jobs/{job['id']}/cancel")
    assert (status, problem["code"]) == (409, "job_already_finished")


def test_equal_seeds_give_equal_bytes(service: RunningService, dataset: dict[str, Any]) -> None:
    request = {"model": {"kind": "forest", "n_estimators": 20}, "seed": 11}
    models = [
        trained_model(service, service.wait_for_job(submit(service, dataset, name=name, **request)["id"]))
        for name in ("first-name", "second-name")
    ]
    assert artifact(service, models[0]) == artifact(service, models[1])
    other = submit(service, dataset, model=request["model"], seed=12)
    assert artifact(service, trained_model(service, service.wait_for_job(other["id"]))) != artifact(service, models[0])
