"""Renaming of all versions of a model."""

import logging

from sqlalchemy.orm import Session

from app.logs import log_event
from app.storage.database import SessionFactory, lock, writing
from app.trained_models.errors import ModelNameTaken, ModelNotFound
from app.trained_models.name_repository import NameRepository
from app.trained_models.tables import ModelNameRow

log = logging.getLogger(__name__)


def rename_models(sessions: SessionFactory, name: str, new_name: str, actor: str | None = None) -> None:
    """Rename all versions of a name. Aliases and jobs refer to ids, and so to the same models as before.

    A version number never comes to mean another model: the old name keeps counting where it ended, and a name that
    other models had before is refused.

    Raises:
        ModelNotFound: no model has the name.
        ModelNameTaken: other models have the new name, or had it.
    """
    with writing(sessions) as session:
        # One at a time: two that exchange names would wait for each other.
        lock(session, "renaming of models")
        _rename(session, name, new_name)
    if name != new_name:
        log_event(log, "models_renamed", actor=actor, from_name=name, to_name=new_name)


def _rename(session: Session, name: str, new_name: str) -> None:
    names = NameRepository(session)
    rows = names.locked(name, new_name)
    old, new = rows[name], rows[new_name]
    if not names.is_used(name):
        raise ModelNotFound.at("path/name", f"no model has the name {name!r:.200}; GET /models lists all models")
    if old is new:
        return
    if names.is_used(new_name):
        raise ModelNameTaken.at("/name", f"other models have the name {new_name!r}; choose another one")
    if _had_other_models(new, name):
        detail = (
            f"deleted or renamed models had the name {new_name!r}, and its versions up to {new.last_version} must not "
            "come to mean other models; choose another name"
        )
        raise ModelNameTaken.at("/name", detail)
    names.rename(old, new)


def _had_other_models(new: ModelNameRow, name: str) -> bool:
    """Return whether models that do not have `name` now once had the new name."""
    return new.last_version > 0 and new.renamed_to != name
