"""Migrations of the database schema, run from code."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

from app.settings import Settings

MIGRATIONS = Path(__file__).resolve().parents[2] / "migrations"


def alembic_config(url: str) -> Config:
    """Return the configuration of Alembic for a database."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
    return config


def upgrade_to_head(settings: Settings) -> None:
    """Run the migrations that have not been run yet. Does nothing if there are none."""
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    command.upgrade(alembic_config(settings.database.url), "head")


def is_current(engine: Engine) -> bool:
    """Return whether the newest migration of this code has been run."""
    head = ScriptDirectory(str(MIGRATIONS)).get_current_head()
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision() == head
