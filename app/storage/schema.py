"""Bring the database's tables to the version that this code needs, and tell whether they are there."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

from app.settings import Settings

MIGRATIONS = Path(__file__).resolve().parents[2] / "migrations"


def alembic_config(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
    return config


def upgrade_to_head(settings: Settings) -> None:
    """Run the migrations that are missing; safe to call when there are none."""
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    command.upgrade(alembic_config(settings.database.url), "head")


def is_current(engine: Engine) -> bool:
    """Whether the database is at the newest migration that this code ships."""
    head = ScriptDirectory(str(MIGRATIONS)).get_current_head()
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision() == head
