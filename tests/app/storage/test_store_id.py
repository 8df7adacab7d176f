"""The id that a database and a state folder share."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import delete, select

from app.context import ServiceContext
from app.operations.startup_checks import StartRefused, require_own_state
from app.storage.database import reading, writing
from app.storage.store_id import FILE_NAME, OtherStore, StoreRow, join_store


def _join(context: ServiceContext, home: Path) -> uuid.UUID:
    home.mkdir(exist_ok=True)
    return join_store(context.sessions, home, (home / "datasets",))


def _forget(context: ServiceContext) -> None:
    with writing(context.sessions) as session:
        session.execute(delete(StoreRow))


def test_a_new_pair_gets_an_id_that_stays(context: ServiceContext, tmp_path: Path) -> None:
    made = _join(context, tmp_path / "a")
    assert (tmp_path / "a" / FILE_NAME).read_text() == f"{made}\n"
    assert _join(context, tmp_path / "a") == made
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [FILE_NAME]


def test_many_processes_make_one_id(context: ServiceContext, tmp_path: Path) -> None:
    start = threading.Barrier(4)

    def join(_: int) -> uuid.UUID:
        start.wait()
        return _join(context, tmp_path / "a")

    with ThreadPoolExecutor(4) as threads:
        ids = set(threads.map(join, range(4)))
    with reading(context.sessions) as session:
        assert session.scalars(select(StoreRow.id)).all() == list(ids)


def test_another_folder_is_refused_whether_it_is_new_or_not(context: ServiceContext, tmp_path: Path) -> None:
    made = _join(context, tmp_path / "a")
    for text in (None, f"{uuid.uuid4()}\n"):
        if text is not None:
            (tmp_path / "b" / FILE_NAME).write_text(text)
        with pytest.raises(OtherStore, match="is not the folder of this database") as refused:
            _join(context, tmp_path / "b")
        assert f"write {made} to {tmp_path / 'b' / FILE_NAME}" in str(refused.value)
        assert "\n" not in str(refused.value)
    (tmp_path / "b" / FILE_NAME).write_text(str(made))
    assert _join(context, tmp_path / "b") == made


def test_a_new_database_does_not_take_a_folder_with_files(context: ServiceContext, tmp_path: Path) -> None:
    made = _join(context, tmp_path / "a")
    (tmp_path / "a" / "datasets").mkdir()
    (tmp_path / "a" / "datasets" / "file").touch()
    _forget(context)
    with pytest.raises(OtherStore, match="holds files of another database"):
        _join(context, tmp_path / "a")
    # A process that was killed between the file and the row leaves this.
    (tmp_path / "a" / "datasets" / "file").unlink()
    assert _join(context, tmp_path / "a") == made


def test_a_damaged_id_is_refused(context: ServiceContext, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("nonsense")
    with pytest.raises(OtherStore, match="does not hold a store id"):
        join_store(context.sessions, tmp_path, ())


def test_a_process_with_another_folder_does_not_start(context: ServiceContext, tmp_path: Path) -> None:
    require_own_state(context.settings)
    require_own_state(context.settings)
    with pytest.raises(StartRefused, match="use the folder of the other processes"):
        require_own_state(context.settings.model_copy(update={"home": tmp_path / "other"}))
