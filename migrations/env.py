"""Alembic's entry: the URL comes from the caller or from the service's settings, never from a file."""

from typing import Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext

from app.database import build_engine
from app.orm import UtcDateTime
from app.settings import DatabaseSettings, load_settings
from app.tables import metadata


def _database_settings() -> DatabaseSettings:
    url = context.config.get_main_option("sqlalchemy.url")
    return DatabaseSettings(url=url) if url else load_settings().database


def _rendered(kind: str, item: object, autogen: AutogenContext) -> str | Literal[False]:
    # A version must not import app code: it would change its meaning when the app changes.
    if kind == "type" and isinstance(item, UtcDateTime):
        return "sa.DateTime(timezone=True)"
    return False


def run() -> None:
    engine = build_engine(_database_settings())
    try:
        with engine.connect() as connection:
            # SQLite cannot alter constraints in place; batch mode copies the table instead.
            context.configure(
                connection=connection, target_metadata=metadata, render_as_batch=True, render_item=_rendered
            )
            with context.begin_transaction():
                context.run_migrations()
    finally:
        engine.dispose()


run()
