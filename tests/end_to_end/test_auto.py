"""The automatic model over HTTP: the default of a request, its choice, and its predictions."""

from typing import Any

import numpy as np
import pytest

from core import inject_noise
from tests.end_to_end.conftest import on_one
from tests.end_to_end.test_main_job import trained_model
from tests.service_process import RunningService

pytestmark = [pytest.mark.slow, on_one("postgresql")]

LABELS = np.array(["low", "middle", "high"])


def three_clusters(n_rows: int, seed: int) -> tuple[Any, Any]:
    """Return rows (row, feature) and their true class numbers."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, 3, n_rows)
    return (generator.normal(size=(n_rows, 3)) + 3 * truth[:, np.newaxis]).round(3), truth


@pytest.fixture(scope="module")
def noisy_rows() -> dict[str, Any]:
    x, truth = three_clusters(600, 5)
    noisy = inject_noise(LABELS[truth], {"kind": "uniform", "rate": 0.4}, random_state=0).labels
    return {"columns": {f"x{i}": x[:, i].tolist() for i in range(3)} | {"y": noisy.tolist()}, "target": "y"}


@pytest.fixture(scope="module")
def model(service: RunningService, noisy_rows: dict[str, Any]) -> dict[str, Any]:
    status, job = service.request("POST", "/train", {"name": "chosen", "data": noisy_rows})
    assert status == 202, job
    return trained_model(service, service.wait_for_job(job["id"]))


def test_a_request_without_a_model_trains_the_automatic_one(model: dict[str, Any]) -> None:
    choice = model["fitted"]["choice"]
    assert model["kind"] == "auto"
    assert len(choice["leaderboard"]) == 28
    assert choice["noise_rate"] == pytest.approx(0.4, abs=0.06)
    assert choice["draws_labels"]
    assert choice["reason"].startswith("The 4 best of 28 forests")


def test_lists_leave_the_leaderboard_out(service: RunningService, model: dict[str, Any]) -> None:
    listed = service.request("GET", "/models?name=chosen")[1]["items"][0]
    assert listed["id"] == model["id"]
    assert listed["fitted"]["choice"]["reason"] == model["fitted"]["choice"]["reason"]
    assert "leaderboard" not in listed["fitted"]["choice"]


def test_it_predicts_the_truth_better_than_the_labels_show(service: RunningService, model: dict[str, Any]) -> None:
    x, truth = three_clusters(400, 6)
    rows = [{f"x{i}": value for i, value in enumerate(row)} for row in x.tolist()]
    answer = service.request("POST", "/predict", {"model": model["id"], "rows": rows})[1]
    labels = np.array([one["label"] for one in answer["predictions"]])
    assert np.mean(labels == LABELS[truth]) > 0.95


def test_its_trees_and_importances_can_be_read(service: RunningService, model: dict[str, Any]) -> None:
    status, tree = service.request("GET", f"/models/{model['id']}/trees/199")
    assert status == 200, tree
    status, importances = service.request("GET", f"/models/{model['id']}/importances")
    assert status == 200, importances
