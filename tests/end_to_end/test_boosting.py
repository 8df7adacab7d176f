"""Boosters over HTTP: training and prediction of every kind, certificates, and interrupted jobs."""

import signal
from typing import Any

import numpy as np
import pytest

import core
from tests.end_to_end.conftest import on_one
from tests.end_to_end.test_main_job import ROW, artifact, submit, trained_model, upload, wait_for_progress
from tests.end_to_end.test_survival import signal_workers
from tests.service_process import RunningService

pytestmark = [pytest.mark.slow, on_one("sqlite")]

KINDS = [kind for kind in core.ESTIMATORS if "boost" in kind]
#: Its linear programs take two seconds or more.
LONG_MODEL = {"kind": "rmboost", "n_rounds": 120}
ENDLESS_MODEL = {"kind": "rmboost", "n_rounds": 3000, "regularization": 0.001, "drop_rules": False}


@pytest.fixture(scope="module")
def dataset(service: RunningService, table_csv: bytes) -> dict[str, Any]:
    return upload(service, table_csv)


@pytest.fixture(scope="module")
def binary_rows() -> dict[str, Any]:
    generator = np.random.default_rng(3)
    x = generator.normal(size=(2000, 3)).round(3)
    y = np.where(x[:, 0] > 0.3, "yes", "no")
    return {"columns": {f"x{i}": x[:, i].tolist() for i in range(3)} | {"y": y.tolist()}, "target": "y"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_learns_three_classes(service: RunningService, dataset: dict[str, Any], kind: str) -> None:
    n_rounds = 40 if kind == "lpboost" else 15  # the first rounds of LPBoost are weak
    job = submit(service, dataset, name=f"boosted-{kind}", model={"kind": kind, "n_rounds": n_rounds})
    model = trained_model(service, service.wait_for_job(job["id"]))
    assert model["metrics"]["test"]["accuracy"] > 0.7
    assert model["fitted"]["stop_reason"] in ("n_rounds", "edge", "time")
    assert 0 < model["fitted"]["n_rounds"] <= n_rounds
    assert model["certificate"] is None
    cells = {name: "" if value is None else value for name, value in ROW.items()}
    query = "&".join(f"{name}={value}" for name, value in cells.items())
    status, single = service.request("GET", f"/predict?model=boosted-{kind}&{query}")
    assert status == 200, single
    assert sum(single["probabilities"].values()) == pytest.approx(1)
    many = service.request("POST", "/predict", {"model": model["id"], "rows": [ROW]})[1]
    assert many["predictions"] == [{name: single[name] for name in ("label", "probabilities")}]


def test_minimax_boosting_reports_its_risk_and_certificate(
    service: RunningService, binary_rows: dict[str, Any]
) -> None:
    body = {
        "name": "certified",
        "data": binary_rows,
        "model": {"kind": "rmboost", "n_rounds": 10, "max_leaf_nodes": 2},
        "noise": {"inject": {"kind": "uniform", "rate": 0.1}},
        "evaluation": {"kind": "none"},
    }
    status, job = service.request("POST", "/train", body)
    assert status == 202, job
    model = trained_model(service, service.wait_for_job(job["id"]))
    metrics, certificate = model["metrics"], model["certificate"]
    assert metrics["risk_path"] == sorted(metrics["risk_path"], reverse=True)
    assert metrics["risk_path"][-1] == pytest.approx(metrics["minimax_risk"], abs=1e-9)
    assert certificate["minimax_risk"] == metrics["minimax_risk"] < 0.5
    assert certificate["noise_rate"] == 0.1
    assert certificate["safe_bound"] > certificate["bound"] > metrics["minimax_risk"]
    listed = service.request("GET", "/models?name=certified&sort=metrics.minimax_risk")[1]["items"]
    assert [item["metrics"]["minimax_risk"] for item in listed] == [metrics["minimax_risk"]]
    assert "risk_path" not in listed[0]["metrics"]


def test_killed_worker_costs_one_attempt(service: RunningService, dataset: dict[str, Any]) -> None:
    request = {"model": LONG_MODEL, "evaluation": {"kind": "none"}, "seed": 5}
    finished = service.wait_for_job(submit(service, dataset, **request)["id"])
    uninterrupted = artifact(service, trained_model(service, finished))
    job = submit(service, dataset, **request)
    wait_for_progress(service, job["id"])
    signal_workers(service, signal.SIGKILL)
    finished = service.wait_for_job(job["id"])
    assert finished["attempt"] == 2
    assert artifact(service, trained_model(service, finished)) == uninterrupted


def test_running_fit_can_be_cancelled(service: RunningService, dataset: dict[str, Any]) -> None:
    job = submit(service, dataset, name="never-boosted", model=ENDLESS_MODEL)
    wait_for_progress(service, job["id"])
    assert service.request("POST", f"/jobs/{job['id']}/cancel")[0] == 202
    assert service.wait_for_job(job["id"], 20)["state"] == "cancelled"
    assert service.request("GET", "/models?name=never-boosted")[1]["items"] == []
