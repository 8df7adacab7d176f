"""Version of the database schema: the newest migration that was run, compared with those of this code.

It is read without Alembic, whose import is slow, and which runs the files of all migrations to learn their order. They
are named by their revisions, which begin with dates.
"""

from pathlib import Path

from sqlalchemy import inspect, text
from sqlalchemy.orm import Session

from app.settings import Settings
from app.storage.database import SessionFactory, may_exist, own_sessions, reading

MIGRATIONS = Path(__file__).resolve().parents[2] / "migrations"


def revisions() -> list[str]:
    """Return the revisions of all migrations of this code, oldest first."""
    return sorted(path.stem for path in (MIGRATIONS / "versions").glob("[!_]*.py"))


def is_current(sessions: SessionFactory) -> bool:
    """Return whether the newest migration of this code has been run, and none of a newer version."""
    with reading(sessions) as session:
        return _revision(session) == revisions()[-1]


def schema_fault(settings: Settings) -> str | None:
    """Return why this code cannot use the schema of the database, and what to do; None if it can."""
    if not may_exist(settings.database):
        return "there is no database yet; run bristlecone migrate"
    revision = _stored_revision(settings)
    if revision is None:
        return "the database has no tables yet; run bristlecone migrate"
    if revision == revisions()[-1]:
        return None
    older = f"the database was not migrated to this version, and is at {revision}; run bristlecone migrate"
    return _newer_fault(revision) or older


def migration_fault(settings: Settings) -> str | None:
    """Return why this code cannot migrate the database, and what to do; None if it can, or need not."""
    return _newer_fault(_stored_revision(settings)) if may_exist(settings.database) else None


def _newer_fault(revision: str | None) -> str | None:
    if revision is None or revision in revisions():
        return None
    return f"a newer version has migrated the database ({revision}); upgrade this one, or restore a backup"


def _stored_revision(settings: Settings) -> str | None:
    with own_sessions(settings.database) as sessions, reading(sessions) as session:
        return _revision(session)


def _revision(session: Session) -> str | None:
    """Return the newest migration that was run; None if there was none."""
    if not inspect(session.connection()).has_table("alembic_version"):
        return None
    revision: str | None = session.scalar(text("SELECT version_num FROM alembic_version"))
    return revision
