"""Engines, sessions, transactions and locks for SQLite and PostgreSQL. No other module commits.

SQLite has one write transaction at a time: while one is open, all other requests, jobs and leases wait. So nothing slow
runs inside `writing`: no file is read, written, parsed or hashed. What could be slow calls `refuse_in_transaction`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Float, create_engine, event, func, make_url, select
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from app.settings import DatabaseSettings
from app.storage.error_messages import hide_row_data
from app.storage.json_text import to_json_text
from app.storage.write_transactions import marked_as_writing, refuse_in_transaction

SessionFactory = sessionmaker[Session]

#: A request that gets no connection for this long is answered with 503.
POOL_TIMEOUT_SECONDS = 10
CONNECT_TIMEOUT_SECONDS = 5

#: Execution option of a session that only reads. On SQLite it does not take the write lock.
READ_ONLY = {"bristlecone_read_only": True}


class epoch_now(FunctionElement[float]):
    """Clock of the database in seconds since 1970. Leases use it, so that the clocks of hosts need not agree."""

    type = Float()
    inherit_cache = True
    name = "epoch_now"


@compiles(epoch_now, "postgresql")
def _epoch_now_postgresql(element: epoch_now, compiler: SQLCompiler, **kw: Any) -> str:
    return "extract(epoch from clock_timestamp())::double precision"


@compiles(epoch_now, "sqlite")
def _epoch_now_sqlite(element: epoch_now, compiler: SQLCompiler, **kw: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


class epoch_of(FunctionElement[float]):
    """Time in a column, in seconds since 1970."""

    type = Float()
    inherit_cache = True
    name = "epoch_of"


@compiles(epoch_of, "postgresql")
def _epoch_of_postgresql(element: epoch_of, compiler: SQLCompiler, **kw: Any) -> str:
    return f"extract(epoch from {compiler.process(element.clauses, **kw)})::double precision"


@compiles(epoch_of, "sqlite")
def _epoch_of_sqlite(element: epoch_of, compiler: SQLCompiler, **kw: Any) -> str:
    return f"((julianday({compiler.process(element.clauses, **kw)}) - 2440587.5) * 86400.0)"


def build_engine(settings: DatabaseSettings) -> Engine:
    """Return an engine with safe defaults for its dialect. Engines must not cross a fork: build one per process."""
    options: dict[str, Any] = {
        "pool_size": settings.pool_size,
        "max_overflow": 0,
        "pool_timeout": POOL_TIMEOUT_SECONDS,
        "json_serializer": to_json_text,
        # Parameters are data of users, which must not appear in logs of failed statements.
        "hide_parameters": True,
    }
    if settings.url.startswith("sqlite"):
        engine = create_engine(settings.url, connect_args={"timeout": settings.busy_timeout_seconds}, **options)
        event.listen(engine, "connect", _prepare_sqlite_connection)
        event.listen(engine, "begin", _begin_sqlite_transaction)
        return engine
    # A host that drops packets must not block a heartbeat for longer than its lease.
    timeouts = {"connect_timeout": CONNECT_TIMEOUT_SECONDS, "tcp_user_timeout": 1000 * CONNECT_TIMEOUT_SECONDS}
    engine = create_engine(settings.url, pool_pre_ping=True, connect_args=timeouts, **options)
    event.listen(engine, "handle_error", hide_row_data)
    return engine


def _prepare_sqlite_connection(connection: DBAPIConnection, record: ConnectionPoolEntry) -> None:
    # The driver would begin transactions too late for IMMEDIATE; `_begin_sqlite_transaction` begins them instead.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite_transaction(connection: Connection) -> None:
    # A deferred transaction fails at its first write if another one has written meanwhile; an IMMEDIATE one waits.
    read_only = connection.get_execution_options().get("bristlecone_read_only", False)
    connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")


def session_factory(engine: Engine) -> SessionFactory:
    """Return a factory of sessions whose objects can still be read after a commit."""
    return sessionmaker(engine, expire_on_commit=False)


@contextmanager
def own_sessions(database: DatabaseSettings) -> Iterator[SessionFactory]:
    """Yield sessions of a connection that nothing else uses, for a command or at the start of a process."""
    engine = build_engine(database.model_copy(update={"pool_size": 1}))
    try:
        yield session_factory(engine)
    finally:
        engine.dispose()


def may_exist(database: DatabaseSettings) -> bool:
    """Return False if there is no database yet, as SQLite would otherwise create an empty one."""
    url = make_url(database.url)
    return url.get_backend_name() != "sqlite" or Path(url.database or "").exists()


class Changes:
    """Record of one request: whether it may have changed the database. Set it as `changes` when the request begins."""

    possible = False


changes: ContextVar[Changes | None] = ContextVar("changes", default=None)


@contextmanager
def writing(sessions: SessionFactory) -> Iterator[Session]:
    """Yield a session that commits when the block ends and rolls back if it raises."""
    refuse_in_transaction("a second write transaction")
    with sessions() as session, session.begin():
        with marked_as_writing():
            yield session
            session.flush()
        # If the connection is lost during the commit, it is not known whether the changes were made.
        if (record := changes.get()) is not None:
            record.possible = True


@contextmanager
def reading(sessions: SessionFactory) -> Iterator[Session]:
    """Yield a session for queries only, which connects at its first query. Changes are not committed."""
    engine: Engine = sessions.kw["bind"]
    with sessions(bind=engine.execution_options(**READ_ONLY)) as session:
        yield session


def lock(session: Session, name: str) -> None:
    """Take the lock of this name until the transaction ends; other transactions that want it wait."""
    # SQLite needs no lock: its write transactions run one after the other.
    if session.get_bind().dialect.name == "postgresql":
        session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0))))
