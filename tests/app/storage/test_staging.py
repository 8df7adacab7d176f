"""Staged files of killed processes are removed soon. Files that are being written are kept."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from app.context import ServiceContext
from app.maintenance import collect_garbage
from app.storage.staging import remove_orphans, staged_path

TWO_DAYS_AGO = time.time() - 2 * 86400

WRITER = """
import sys, time
from pathlib import Path
from app.storage.staging import staged_path

with staged_path(Path(sys.argv[1]), "datasets", ".parquet") as path:
    path.write_bytes(b"half")
    path.with_suffix(".utf8").write_bytes(b"half")
    path.with_name(f".{path.name}.tmp").write_bytes(b"half")
    print("written", flush=True)
    time.sleep(600)
"""


def _aged(path: Path) -> None:
    os.utime(path, (TWO_DAYS_AGO, TWO_DAYS_AGO))


def _names(folder: Path) -> list[str]:
    return sorted(path.suffix for path in folder.iterdir())


def test_files_of_a_killed_process_are_removed_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"written\n"
        assert remove_orphans(tmp_path) == 0
        assert _names(tmp_path) == [".lock", ".parquet", ".tmp", ".utf8"]
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    assert remove_orphans(tmp_path) == 3
    assert _names(tmp_path) == []


def test_files_of_living_processes_are_kept_however_old(tmp_path: Path) -> None:
    with staged_path(tmp_path, "datasets", ".parquet") as path:
        path.write_bytes(b"half")
        _aged(path)
        assert remove_orphans(tmp_path) == 0
        assert path.exists()
    assert _names(tmp_path) == []


def test_only_old_files_without_a_lock_are_deleted(tmp_path: Path) -> None:
    old, new, folder = tmp_path / "old", tmp_path / "new", tmp_path / "folder"
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    folder.mkdir()
    _aged(old)
    _aged(folder)
    assert remove_orphans(tmp_path) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "new"]


def test_removal_never_takes_a_file_from_its_writer(tmp_path: Path) -> None:
    def write(number: int) -> None:
        for _ in range(200):
            with staged_path(tmp_path, f"writer{number}", ".parquet") as path:
                path.write_bytes(b"whole")
                assert path.read_bytes() == b"whole"

    with ThreadPoolExecutor(5) as threads:
        writers = [threads.submit(write, number) for number in range(4)]
        while not all(writer.done() for writer in writers):
            assert remove_orphans(tmp_path) == 0
        for writer in writers:
            writer.result()
    assert _names(tmp_path) == []


def test_unreferenced_files_are_removed(context: ServiceContext) -> None:
    settings = context.settings
    files = [
        settings.datasets_folder / f"{'0' * 64}.parquet",
        settings.artifacts_folder / f"{'0' * 64}.bristlecone",
    ]
    for file in files:
        file.write_bytes(b"left by a crash")
        _aged(file)
    assert collect_garbage(context) == 2
    assert not any(file.exists() for file in files)
