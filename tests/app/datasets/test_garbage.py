"""Garbage collection deletes old files without a row. New files and files of data sets are kept."""

import os
import time
from pathlib import Path

from app.context import ServiceContext
from app.datasets.service import remove_unreferenced
from tests.factories import store_columns

DAY = 86_400.0


def _aged(path: Path) -> None:
    then = time.time() - 2 * DAY
    os.utime(path, (then, then))


def _collect_garbage(context: ServiceContext, older_than_seconds: float = DAY) -> int:
    return remove_unreferenced(context.sessions, context.dataset_store, older_than_seconds)


def test_only_old_files_without_a_row_are_deleted(context: ServiceContext) -> None:
    folder = context.settings.datasets_folder
    row = store_columns(context, {"x": [1, 2], "y": [0, 1]}, "y", "kept")
    kept, old, new = (folder / f"{name}.parquet" for name in (row.fingerprint, "1" * 64, "2" * 64))
    old.write_bytes(b"left")
    new.write_bytes(b"just now")
    foreign = folder / "notes.parquet"
    foreign.write_bytes(b"not ours")
    for path in (kept, old, foreign):
        _aged(path)
    files = dict(context.dataset_store.files())
    assert set(files) == {row.fingerprint, "1" * 64, "2" * 64}
    assert files["1" * 64] == old.stat().st_mtime
    assert _collect_garbage(context) == 1
    assert set(folder.iterdir()) == {kept, new, foreign}
    assert _collect_garbage(context) == 0


def test_a_store_without_its_folder_is_empty(context: ServiceContext) -> None:
    context.settings.datasets_folder.rmdir()
    assert _collect_garbage(context) == 0
