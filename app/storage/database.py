"""Engines, sessions, transactions and locks for SQLite and PostgreSQL. No other module commits."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, Float, create_engine, event, func, select
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from app.settings import DatabaseSettings

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


def build_engine(settings: DatabaseSettings) -> Engine:
    """Return an engine with safe defaults for its dialect. Engines must not cross a fork: build one per process."""
    pool = {"pool_size": settings.pool_size, "max_overflow": 0, "pool_timeout": POOL_TIMEOUT_SECONDS}
    if settings.url.startswith("sqlite"):
        engine = create_engine(settings.url, connect_args={"timeout": settings.busy_timeout_seconds}, **pool)
        event.listen(engine, "connect", _prepare_sqlite_connection)
        event.listen(engine, "begin", _begin_sqlite_transaction)
        return engine
    # A host that drops packets must not block a heartbeat for longer than its lease.
    timeouts = {"connect_timeout": CONNECT_TIMEOUT_SECONDS, "tcp_user_timeout": 1000 * CONNECT_TIMEOUT_SECONDS}
    return create_engine(settings.url, pool_pre_ping=True, connect_args=timeouts, **pool)


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
def writing(sessions: SessionFactory) -> Iterator[Session]:
    """Yield a session that commits when the block ends and rolls back if it raises."""
    with sessions() as session, session.begin():
        yield session


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
