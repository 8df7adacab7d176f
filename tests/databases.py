"""PostgreSQL server of the tests: a configured or running server, or one that the `pgserver` package starts."""

import importlib.util
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

#: Environment variable with the URL of a server; tests create and drop databases named bristlecone_test_*.
TEST_SERVER_VARIABLE = "BRISTLECONE_TEST_POSTGRES_URL"

DEFAULT_URLS = ("postgresql+psycopg://postgres@127.0.0.1:5432/postgres", "postgresql+psycopg:///postgres")


@contextmanager
def postgresql_server() -> Iterator[str]:
    """Yield the URL of a server on which databases can be created; start a server if none is running."""
    configured_url = os.environ.get(TEST_SERVER_VARIABLE)
    for url in [configured_url] if configured_url else DEFAULT_URLS:
        if _can_create_databases(url):
            yield url
            return
    with _start_server() as url:
        yield url


def _can_create_databases(url: str) -> bool:
    engine = sa.create_engine(url, connect_args={"connect_timeout": 2})
    query = sa.text("SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user")
    try:
        with engine.connect() as connection:
            return bool(connection.scalar(query))
    except sa.exc.OperationalError:
        return False
    finally:
        engine.dispose()


@contextmanager
def _start_server() -> Iterator[str]:
    if importlib.util.find_spec("pgserver") is None:
        reason = f"no PostgreSQL is running and pgserver has no wheel for this Python; set {TEST_SERVER_VARIABLE}"
        # Many tests would be skipped without notice, so this is a failure in continuous integration.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    pgserver = importlib.import_module("pgserver")
    folder = Path(tempfile.mkdtemp(prefix="bristlecone-pg-"))
    server = pgserver.get_server(folder, cleanup_mode="delete")
    try:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def fresh_database(server_url: str) -> Iterator[str]:
    """Yield the URL of a new, empty database on the server; the database is dropped at the end."""
    name = f"bristlecone_test_{uuid.uuid4().hex[:12]}"
    engine = sa.create_engine(server_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
        # No test ends the server, so that nothing is lost although commits do not wait for the disk.
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET synchronous_commit = off")
    try:
        yield sa.make_url(server_url).set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
        engine.dispose()
