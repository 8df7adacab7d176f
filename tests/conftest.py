"""Shared fixtures: migrated databases, the broker, the context of the service and the application."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import delete

from app.context import ServiceContext, open_context
from app.main import create_app
from app.settings import BrokerSettings, DatabaseSettings, JobSettings, Limits, Settings
from app.storage.database import writing
from app.storage.schema import upgrade_to_head
from app.tables import metadata
from tests.broker import private_redis
from tests.databases import fresh_database, postgresql_server


def make_settings(home: Path, database_url: str, broker_url: str = "redis+socket:///nowhere.sock") -> Settings:
    return Settings(
        home=home,
        host="127.0.0.1",
        port=8000,
        allow_open_network=False,
        database=DatabaseSettings(url=database_url),
        broker=BrokerSettings(url=broker_url),
        limits=Limits(),
        jobs=JobSettings(threads_per_job=2),
    )


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """Yield the URL of a server on which tests can create databases."""
    with postgresql_server() as url:
        yield url


@pytest.fixture(scope="session")
def migrated_postgresql_url(postgresql_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with fresh_database(postgresql_url) as url:
        upgrade_to_head(make_settings(tmp_path_factory.mktemp("pg"), url))
        yield url


@pytest.fixture(scope="session")
def broker_url() -> Iterator[str]:
    """Yield the URL of a Redis server that only this test run uses."""
    with private_redis() as url:
        yield url


@pytest.fixture
def empty_broker_url() -> Iterator[str]:
    """Yield the URL of a Redis server that only this test uses, for workers that know only some kinds of jobs."""
    with private_redis() as url:
        yield url


@pytest.fixture(scope="session")
def migrated_sqlite_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty, migrated database that tests copy; migrations would take longer than most tests."""
    folder = tmp_path_factory.mktemp("sqlite")
    file = folder / "migrated.db"
    upgrade_to_head(make_settings(folder, f"sqlite:///{file}"))
    return file


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a migrated, empty database; every test that uses it runs on SQLite and PostgreSQL."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("migrated_sqlite_file"), tmp_path / "test.db")
        return f"sqlite:///{tmp_path / 'test.db'}"
    url: str = request.getfixturevalue("migrated_postgresql_url")
    return url


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    return make_settings(tmp_path / "home", database_url)


@pytest.fixture
def context(settings: Settings) -> Iterator[ServiceContext]:
    """Yield an open context on an empty, migrated database."""
    context = open_context(settings)
    _empty(context)
    yield context
    _empty(context)
    context.close()


@pytest.fixture
def client(settings: Settings, broker_url: str) -> Iterator[TestClient]:
    """Yield a client of the application on an empty, migrated database; exceptions become responses."""
    broker = settings.broker.model_copy(update={"url": broker_url})
    app = create_app(settings.model_copy(update={"broker": broker}))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        _empty(app.state.context)
        yield client
        _empty(app.state.context)


def _empty(context: ServiceContext) -> None:
    with writing(context.sessions) as session:
        for table in reversed(metadata.sorted_tables):
            session.execute(delete(table))
