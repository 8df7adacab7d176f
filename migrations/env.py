"""Entry point of Alembic. The URL is set by the caller or by the settings of the service, not by a file."""

import sqlite3
from typing import Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext
from sqlalchemy import Connection

from app.settings import DatabaseSettings, load_settings
from app.storage.database import build_engine
from app.storage.orm import UtcDateTime
from app.tables import metadata


def _database_settings() -> DatabaseSettings:
    url = context.config.get_main_option("sqlalchemy.url")
    return DatabaseSettings(url=url) if url else load_settings().database


def _render_item(kind: str, item: object, autogen: AutogenContext) -> str | Literal[False]:
    # A migration must not import code of the service, because a change of that code would change the migration.
    if kind == "type" and isinstance(item, UtcDateTime):
        return "sa.DateTime(timezone=True)"
    return False


def _suspend_foreign_keys(connection: Connection) -> None:
    # Copying a table drops it, and ON DELETE CASCADE would then delete the rows that refer to it. The pragma has no
    # effect inside a transaction, so it bypasses SQLAlchemy, which would begin one.
    driver: sqlite3.Connection = connection.connection.driver_connection  # type: ignore[assignment]
    driver.execute("PRAGMA foreign_keys=OFF")


def _check_foreign_keys(connection: Connection) -> None:
    dangling = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    if dangling:
        raise RuntimeError(f"the migration leaves {len(dangling)} dangling foreign keys; the first is {dangling[0]}")


def run() -> None:
    engine = build_engine(_database_settings())
    try:
        with engine.connect() as connection:
            if connection.dialect.name == "sqlite":
                _suspend_foreign_keys(connection)
            # SQLite cannot alter constraints; batch mode copies the table instead.
            context.configure(
                connection=connection, target_metadata=metadata, render_as_batch=True, render_item=_render_item
            )
            with context.begin_transaction():
                context.run_migrations()
                if connection.dialect.name == "sqlite":
                    _check_foreign_keys(connection)
    finally:
        engine.dispose()


run()
