"""Shared fixtures: migrated databases, the broker, the context of the service and the application."""

import gc
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.routing import BaseRoute

from app.context import ServiceContext, open_context
from app.main import create_app
from app.settings import BrokerSettings, DatabaseSettings, JobSettings, Limits, Settings
from app.storage.schema import upgrade_to_head
from app.tables import metadata
from tests.broker import private_redis
from tests.databases import fresh_database, postgresql_server
from tests.distribution import BySharedService


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> BySharedService | None:
    return BySharedService(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection() -> None:
    """Collect no garbage while tests are collected: nearly all that is made lives to the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exempt all that was imported from garbage collection, most of all from the one at the end of the process."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files with slow tests first; otherwise a parallel run ends with one of them while processors are idle."""
    slow_files = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow_files)


@pytest.fixture(autouse=True)
def _root_logger_as_before() -> Iterator[None]:
    """Take back the handler and the level that `configure_logging` gave the root logger: the handler writes to standard
    error as captured for one test, which is closed for all later ones.
    """
    yield
    root = logging.getLogger()
    root.setLevel(logging.WARNING)
    for handler in [handler for handler in root.handlers if type(handler) is logging.StreamHandler]:
        root.removeHandler(handler)


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


@pytest.fixture(scope="session")
def migrated_sqlite_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty, migrated database that tests copy; migrations would take longer than most tests."""
    folder = tmp_path_factory.mktemp("sqlite")
    file = folder / "migrated.db"
    upgrade_to_head(make_settings(folder, f"sqlite:///{file}"))
    return file


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield the URL of a migrated, empty database; every test that uses it runs on SQLite and PostgreSQL."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("migrated_sqlite_file"), tmp_path / "test.db")
        yield f"sqlite:///{tmp_path / 'test.db'}"
    else:
        # Not after the test, because a thread of it may write after its end.
        _empty(request.getfixturevalue("migrated_postgresql_engine"))
        yield request.getfixturevalue("migrated_postgresql_url")


@pytest.fixture(scope="session")
def migrated_postgresql_engine(migrated_postgresql_url: str) -> Iterator[sa.Engine]:
    engine = sa.create_engine(migrated_postgresql_url, isolation_level="AUTOCOMMIT")
    yield engine
    engine.dispose()


def _empty(engine: sa.Engine) -> None:
    """Delete all rows of all tables, in one round trip."""
    statements = (f"DELETE FROM {table.name};" for table in reversed(metadata.sorted_tables))
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DO $$BEGIN {' '.join(statements)} END$$")


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    return make_settings(tmp_path / "home", database_url)


@pytest.fixture
def context(settings: Settings) -> Iterator[ServiceContext]:
    """Yield an open context on an empty, migrated database."""
    context = open_context(settings)
    yield context
    context.close()


#: Routes of the first application with each set of limits, which are all that routes depend on.
_routes: dict[Limits, list[BaseRoute]] = {}


def make_app(settings: Settings) -> FastAPI:
    """Return the application, with routes that others share: the first request analyzes them, which takes longer than
    most tests.
    """
    app = create_app(settings)
    app.router.routes[:] = _routes.setdefault(settings.limits, [*app.router.routes])
    return app


@pytest.fixture
def client(settings: Settings, broker_url: str) -> Iterator[TestClient]:
    """Yield a client of the application on an empty, migrated database; exceptions become responses."""
    broker = settings.broker.model_copy(update={"url": broker_url})
    app = make_app(settings.model_copy(update={"broker": broker}))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client
