"""Processes that do not start: each says why in one line, and how to go on."""

import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command

from app.operations.startup_checks import StartRefused, require_older_schema, require_own_state
from app.settings import DatabaseSettings
from app.storage.database import build_engine
from app.storage.schema import alembic_config, upgrade_to_head
from tests.conftest import make_settings
from tests.databases import fresh_database
from tests.service_process import free_port, service_environment

pytestmark = pytest.mark.slow

PROCESSES = (["api"], ["worker"])


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path):
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    with fresh_database(request.getfixturevalue("postgresql_url")) as url:
        yield url


def _ended(home: Path, arguments: list[str], database_url: str) -> subprocess.CompletedProcess[str]:
    environment = service_environment(home, free_port(), DATABASE_URL=database_url, REDIS_URL="redis://127.0.0.1:1")
    ended = subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments], env=environment, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 1
    assert ended.stdout == ""
    return ended


def _refusal(home: Path, arguments: list[str], database_url: str) -> str:
    """Return the only line that the process writes before it ends."""
    ended = _ended(home, arguments, database_url)
    assert ended.stderr.startswith("bristlecone: ")
    assert ended.stderr.count("\n") == 1, ended.stderr
    return ended.stderr


def _execute(database_url: str, statement: str) -> None:
    engine = build_engine(DatabaseSettings(url=database_url))
    with engine.begin() as connection:
        connection.execute(sa.text(statement))
    engine.dispose()


def test_databases_that_are_not_migrated(empty_database: str, tmp_path: Path) -> None:
    """The check that the processes below make before anything else."""
    settings = make_settings(tmp_path / "home", empty_database)
    with pytest.raises(StartRefused, match="run bristlecone migrate"):
        require_own_state(settings)
    assert not (tmp_path / "empty.db").exists()
    command.upgrade(alembic_config(empty_database), "20261124_sweeps")
    with pytest.raises(StartRefused, match="20261124_sweeps; run bristlecone migrate"):
        require_own_state(settings)
    upgrade_to_head(settings)
    _execute(empty_database, "UPDATE alembic_version SET version_num = '29990101_future'")
    for refused in (require_own_state, require_older_schema):
        with pytest.raises(StartRefused, match="a newer version has migrated the database"):
            refused(settings)


def test_processes_refuse_a_database_that_is_not_migrated(tmp_path: Path) -> None:
    for arguments in (*PROCESSES, ["keys", "list"]):
        refusal = _refusal(tmp_path / "home", arguments, f"sqlite:///{tmp_path / 'empty.db'}")
        assert "run bristlecone migrate" in refusal
    assert not (tmp_path / "empty.db").exists()


def test_a_folder_of_another_database(tmp_path: Path) -> None:
    database_url = f"sqlite:///{tmp_path / 'test.db'}"
    upgrade_to_head(make_settings(tmp_path, database_url))
    _execute(database_url, "INSERT INTO store VALUES ('3f0e8f7e000040008000000000000000')")
    for arguments in PROCESSES:
        assert "is not the folder of this database" in _refusal(tmp_path / "other", arguments, database_url)
    # It logs what it does before it looks at the folder, and starts nothing.
    log = _ended(tmp_path / "other", ["serve"], database_url).stderr
    assert "is not the folder of this database" in log.splitlines()[-1]
    assert "Traceback" not in log


def test_a_database_that_does_not_answer(tmp_path: Path) -> None:
    for arguments in PROCESSES:
        refusal = _refusal(tmp_path / "home", arguments, "postgresql://nobody:hunter2@127.0.0.1:1/nothing")
        assert "the database does not answer" in refusal
        assert "hunter2" not in refusal
