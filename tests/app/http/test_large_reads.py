"""Parallel reads of large rows from a running service, whose memory stays flat."""

import json
import threading
from collections import Counter

import numpy as np
import pytest

from tests.app.datasets.tables import parquet
from tests.app.datasets.test_hostile_uploads import upload
from tests.service_process import RunningService
from tests.service_watch import MAX_GROWTH_BYTES, Watch

N_CLASSES = 1_000

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with RunningService(tmp_path_factory.mktemp("large") / "home") as running:
        assert upload(running, parquet(x=[1, 2, 3], y=[0, 1, 0]))[0] == 201
        yield running


def read_at_once(service, path, n_requests):
    """Return the statuses, one of the documents, and what the service took."""
    statuses, refusals, document = Counter(), [], {}

    def read():
        status, content = service.exchange("GET", path)
        statuses[status] += 1
        if status == 200:
            # One of them; to parse and keep all would take longer than to make them.
            document["content"] = content
        else:
            refusals.append(json.loads(content)["code"])

    with Watch(service) as watch:
        readers = [threading.Thread(target=read) for _ in range(n_requests)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
    print(f"{n_requests} of {path}: {watch}")  # noqa: T201
    assert set(statuses) <= {200, 503}
    assert set(refusals) <= {"memory_busy"}
    assert watch.n_unanswered == 0
    assert watch.growth_bytes < MAX_GROWTH_BYTES
    return json.loads(document["content"])


def test_data_sets(service):
    categories = [f"{code:06}" + "c" * 900 for code in range(9_000)]
    columns = {f"text{i}": categories * 2 for i in range(3)}
    types = '{"text0": "categorical", "text1": "categorical", "text2": "categorical"}'
    status, dataset = upload(service, parquet(**columns, y=[0, 1] * 9_000), types=types)
    assert status == 201, dataset
    for part in ("", "/rows?limit=20", "/profile"):
        answer = read_at_once(service, f"/datasets/{dataset['id']}{part}", 12)
        if not part:
            assert answer == dataset


def test_jobs(service):
    codes = np.arange(4 * N_CLASSES) % N_CLASSES
    dataset = upload(service, parquet(x=codes + 0.5, y=codes))[1]
    transition = np.full((N_CLASSES, N_CLASSES), 0.1 / (N_CLASSES - 1))
    np.fill_diagonal(transition, 0.9)
    noise = {"inject": {"kind": "matrix", "transition": transition.tolist()}}
    body = {"dataset_id": dataset["id"], "model": {"kind": "tree", "max_depth": 1}, "noise": noise}
    job = service.request("POST", "/train", body)[1]
    service.wait_for_job(job["id"])
    answer = read_at_once(service, f"/jobs/{job['id']}", 12)
    assert answer["request"] == job["request"]
    assert answer["request"]["noise"]["inject"] == noise["inject"]
