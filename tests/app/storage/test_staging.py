"""Unfinished files of killed processes are removed. Files that are being written are kept."""

import os
import time
from pathlib import Path

from app.context import ServiceContext
from app.maintenance import collect_garbage
from app.storage.staging import remove_orphans


def test_only_old_files_are_deleted(tmp_path: Path) -> None:
    old, new, folder = tmp_path / "old", tmp_path / "new", tmp_path / "folder"
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    folder.mkdir()
    two_days_ago = time.time() - 2 * 86400
    os.utime(old, (two_days_ago, two_days_ago))
    os.utime(folder, (two_days_ago, two_days_ago))
    assert remove_orphans(tmp_path) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "new"]


def test_unreferenced_files_are_removed(context: ServiceContext) -> None:
    settings = context.settings
    files = [
        settings.staging_folder / "artifact-half",
        settings.datasets_folder / f"{'0' * 64}.parquet",
        settings.artifacts_folder / f"{'0' * 64}.bristlecone",
    ]
    two_days_ago = time.time() - 2 * 86400
    for file in files:
        file.write_bytes(b"left by a crash")
        os.utime(file, (two_days_ago, two_days_ago))
    assert collect_garbage(context) == 3
    assert not any(file.exists() for file in files)
