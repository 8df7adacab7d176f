"""Counts of several processes: added up while they live, kept when they are killed, and stored in few files."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.telemetry.count_folder import CountFolder
from app.telemetry.counts import CellKey, ProcessCounts
from app.telemetry.instruments import GAUGES, MAX_MODELS, PROCESSES, Instruments

REQUESTS, RUNNING = CellKey("requests", ("/x",)), CellKey("running")


@pytest.fixture
def folder(tmp_path: Path) -> CountFolder:
    return CountFolder(tmp_path / "metrics", gauges=["running"])


@pytest.fixture
def own(folder: CountFolder) -> Iterator[ProcessCounts]:
    """Yield the counts of this process."""
    counts = folder.open_own()
    yield counts
    counts.close()


def _count_until_killed(path: Path, ready, amount: int) -> None:
    counts = CountFolder(path, ["running"]).open_own()
    counts.cell(RUNNING).add()
    for _ in range(amount):
        counts.cell(REQUESTS).add()
    ready.set()
    signal.pause()


def _killed_process(path: Path, amount: int) -> None:
    start = multiprocessing.get_context("spawn")
    ready = start.Event()
    process = start.Process(target=_count_until_killed, args=(path, ready, amount))
    process.start()
    ready.wait(60)
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def test_counts_of_a_killed_process_stay_and_its_gauges_go(
    folder: CountFolder, own: ProcessCounts, tmp_path: Path
) -> None:
    own.cell(REQUESTS).add(2)
    own.cell(RUNNING).add()
    _killed_process(tmp_path / "metrics", 40)
    for _ in range(2):
        assert folder.totals() == {REQUESTS: 42.0, RUNNING: 1.0}
    own.cell(REQUESTS).add()
    assert folder.totals()[REQUESTS] == 43.0
    own.close()
    assert folder.totals() == {REQUESTS: 43.0}
    assert [path.name for path in (tmp_path / "metrics").iterdir()] == ["ended.json"]


def test_files_that_a_crash_has_left_are_not_counted_twice(
    folder: CountFolder, own: ProcessCounts, tmp_path: Path
) -> None:
    own.cell(REQUESTS).add()
    own.close()
    (file,) = (tmp_path / "metrics").glob("*.counts")
    content = file.read_bytes()
    assert folder.totals() == {REQUESTS: 1.0}
    file.write_bytes(content)
    assert folder.totals() == {REQUESTS: 1.0}
    assert not file.exists()
    assert folder.totals() == {REQUESTS: 1.0}


@pytest.mark.parametrize("content", [b"", b"\xff" * 4096, b"\0" * 4096])
def test_damaged_files_do_not_stop_others(
    folder: CountFolder, own: ProcessCounts, tmp_path: Path, content: bytes
) -> None:
    own.cell(REQUESTS).add()
    (tmp_path / "metrics" / "damaged.counts").write_bytes(content)
    assert folder.totals() == {REQUESTS: 1.0}
    (tmp_path / "metrics" / "ended.json").write_bytes(content)
    assert folder.totals() == {REQUESTS: 1.0}


def test_threads_lose_no_count() -> None:
    counts = ProcessCounts()
    threads = [threading.Thread(target=lambda: [counts.cell(REQUESTS).add() for _ in range(5000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts.in_memory() == {REQUESTS: 20_000.0}


def test_a_full_file_keeps_what_it_has(folder: CountFolder, own: ProcessCounts) -> None:
    for number in range(9000):
        own.cell(CellKey("many", ("x" * 100 + str(number),))).add()
    totals = folder.totals()
    assert 5000 < len(totals) < 9000
    assert set(totals.values()) == {1.0}


def test_labels_are_bounded(folder: CountFolder, own: ProcessCounts) -> None:
    instruments = Instruments(own)
    for number in range(3 * MAX_MODELS):
        instruments.predicted_rows(f"model {number}").add()
        instruments.request("/predict", f"METHOD{number}", 405, 0.001)
    totals = folder.totals()
    models = {key.labels[0]: value for key, value in totals.items() if key.metric == "bristlecone_predicted_rows"}
    assert len(models) == MAX_MODELS + 1
    assert models["other"] == 2 * MAX_MODELS
    methods = {key.labels[1] for key in totals if key.metric == "bristlecone_http_request_seconds"}
    assert methods == {"other"}
    assert PROCESSES.name in GAUGES
