"""Migrations of the database schema, run from code."""

from alembic import command
from alembic.config import Config

from app.settings import Settings
from app.storage.schema_version import MIGRATIONS


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
