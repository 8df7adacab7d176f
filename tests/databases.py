"""A PostgreSQL for tests: one that is named or running already, else one that the `pgserver` wheel starts."""

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

#: Set it to use a server of your own; tests create and drop databases named bristlecone_test_*.
TEST_SERVER_VARIABLE = "BRISTLECONE_TEST_POSTGRES_URL"

WELL_KNOWN = ("postgresql+psycopg://postgres@127.0.0.1:5432/postgres", "postgresql+psycopg:///postgres")


@contextmanager
def postgresql_server() -> Iterator[str]:
    """The URL of a server on which databases may be created; starts one when none is found."""
    given = os.environ.get(TEST_SERVER_VARIABLE)
    for url in [given] if given else WELL_KNOWN:
        if _may_create_databases(url):
            yield url
            return
    with _started_server() as url:
        yield url


def _may_create_databases(url: str) -> bool:
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
def _started_server() -> Iterator[str]:
    if importlib.util.find_spec("pgserver") is None:
        why = f"no PostgreSQL is running and pgserver has no wheel for this Python; set {TEST_SERVER_VARIABLE}"
        # Half of the tests would quietly not run; where results count, that is a failure.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why)
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
    """The URL of a new empty database on that server, dropped at the end."""
    name = f"bristlecone_test_{uuid.uuid4().hex[:12]}"
    engine = sa.create_engine(server_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    try:
        yield sa.make_url(server_url).set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
        engine.dispose()
