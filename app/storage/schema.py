"""Migrations of the database schema, run from code."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, text

from app.settings import Settings
from app.storage.database import may_exist, own_sessions, reading

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


def schema_fault(settings: Settings) -> str | None:
    """Return why this code cannot use the schema of the database, and what to do; None if it can."""
    if not may_exist(settings.database):
        return "there is no database yet; run bristlecone migrate"
    with own_sessions(settings.database) as sessions, reading(sessions) as session:
        # Read here, because Alembic logs lines about each database that it looks at.
        has_table = inspect(session.connection()).has_table("alembic_version")
        revision = session.scalar(text("SELECT version_num FROM alembic_version")) if has_table else None
    scripts = ScriptDirectory(str(MIGRATIONS))
    if revision == scripts.get_current_head():
        return None
    if revision is None:
        return "the database has no tables yet; run bristlecone migrate"
    if all(script.revision != revision for script in scripts.walk_revisions()):
        return f"a newer version has migrated the database ({revision}); upgrade this one, or restore a backup"
    return f"the database was not migrated to this version, and is at {revision}; run bristlecone migrate"
