"""Aliases and default versions, each with a log of its moves."""

import logging
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.logs import log_event
from app.storage.database import SessionFactory, lock, reading, writing
from app.storage.pages import Listed, PageQuery, SliceQuery
from app.trained_models.errors import AliasNotFound, ModelNotFound
from app.trained_models.name_repository import NameRepository
from app.trained_models.names import Reference
from app.trained_models.pointer_repository import PointerRepository
from app.trained_models.records import AliasRecord, DefaultRecord, ModelVersion, MoveRecord, Pointer
from app.trained_models.repository import TrainedModelRepository
from app.trained_models.service import TrainedModelService, not_found
from app.trained_models.store import ArtifactStore

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class History:
    """Part of the moves of a pointer, newest first, and the cursor of the next ones."""

    moves: list[MoveRecord]
    next_cursor: str | None


class Move(NamedTuple):
    """Model that a pointer pointed to, and the one that it points to now."""

    before: ModelVersion | None
    after: ModelVersion | None


class PointerService:
    """Aliases and default versions within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pointers = PointerRepository(session)
        self._names = NameRepository(session)

    def alias(self, name: str) -> AliasRecord:
        """Return the alias. Raises AliasNotFound."""
        alias = self._pointers.alias(name)
        if alias is None:
            raise AliasNotFound.at("path/name", f"there is no alias {name!r:.200}; GET /aliases lists all aliases")
        return alias

    def aliases(self, page: PageQuery, name_contains: str | None = None) -> Listed[AliasRecord]:
        """Return one page of the aliases whose name has a part, or of all if it is None."""
        return self._pointers.page(page, name_contains)

    def history(self, pointer: Pointer, name: str, page: SliceQuery) -> History:
        """Return moves of a pointer, also those from before it was removed and made again."""
        return History(*self._pointers.moves(pointer, name, page))

    def point(self, name: str, model: ModelVersion, actor: str | None) -> ModelVersion | None:
        """Make an alias point to a model. Return what it pointed to, None if it is new. Raises ModelNotFound."""
        lock(self._session, f"alias {name}")
        before = self._pointers.alias(name)
        if before is None or before.model.id != model.id:
            try:
                self._pointers.point(name, model.id)
            except IntegrityError as error:
                raise not_found(str(model.id)) from error
            self._pointers.log(Pointer.ALIAS, name, actor, before.model if before else None, model)
        return before.model if before else None

    def remove(self, name: str, actor: str | None) -> ModelVersion:
        """Delete an alias and return what it pointed to; its history is kept. Raises AliasNotFound."""
        lock(self._session, f"alias {name}")
        alias = self.alias(name)
        self._pointers.delete(name)
        self._pointers.log(Pointer.ALIAS, name, actor, alias.model, None)
        return alias.model

    def default(self, name: str) -> DefaultRecord:
        """Return what a bare name means. Raises ModelNotFound."""
        model = TrainedModelRepository(self._session).identity(Reference(name=name))
        if model is None:
            raise _no_name(name)
        default = self._names.default(name)
        version = ModelVersion(id=model.id, name=model.name, version=model.version)
        return DefaultRecord(name=name, model=version, default_version=default.version if default else None)

    def set_default(self, name: str, version: int | None, actor: str | None) -> "Move":
        """Make a bare name mean this version, or the newest one if `version` is None. Raises ModelNotFound."""
        row = self._names.lock(name)
        if row is None or not self._names.is_used(name):
            raise _no_name(name)
        before, after = self._names.default(name), self._version(name, version)
        if before != after:
            row.default_model_id = after.id if after else None
            self._pointers.log(Pointer.DEFAULT, name, actor, before, after)
        return Move(before, after)

    def _version(self, name: str, version: int | None) -> ModelVersion | None:
        if version is None:
            return None
        model = self._names.version(name, version)
        if model is None:
            detail = f"{name!r} has no version {version}; GET /models?name={name} lists its versions"
            raise ModelNotFound.at("/version", detail)
        return model


def point_alias(
    sessions: SessionFactory, store: ArtifactStore, name: str, reference: str, actor: str | None = None
) -> bool:
    """Make an alias point to the model of a reference. Return whether the alias is new. Raises ModelNotFound."""
    with writing(sessions) as session:
        model = TrainedModelService(session, store).identify(reference)
        version = ModelVersion(id=model.id, name=model.name, version=model.version)
        before = PointerService(session).point(name, version, actor)
    _log_move("alias_moved", name, actor, before, version)
    return before is None


def remove_alias(sessions: SessionFactory, name: str, actor: str | None = None) -> None:
    """Delete an alias; its history is kept. Raises AliasNotFound."""
    with writing(sessions) as session:
        before = PointerService(session).remove(name, actor)
    _log_move("alias_removed", name, actor, before, None)


def set_default(sessions: SessionFactory, name: str, version: int | None, actor: str | None = None) -> None:
    """Make a bare name mean this version, or the newest one if `version` is None. Raises ModelNotFound."""
    try:
        with writing(sessions) as session:
            move = PointerService(session).set_default(name, version, actor)
    except IntegrityError as error:
        raise ModelNotFound.at("/version", f"version {version} of {name!r} was deleted at this moment") from error
    _log_move("default_version_moved", name, actor, move.before, move.after)


def _log_move(
    event: str, name: str, actor: str | None, before: ModelVersion | None, after: ModelVersion | None
) -> None:
    """Log a committed move, if there was one."""
    if before != after:
        log_event(log, event, actor=actor, name=name, from_model=_shown(before), to_model=_shown(after))


def _shown(model: ModelVersion | None) -> str | None:
    return None if model is None else f"{model.name}:{model.version} ({model.id})"


def get_alias(sessions: SessionFactory, name: str, page: SliceQuery) -> tuple[AliasRecord, History]:
    """Return an alias and a part of its history. Raises AliasNotFound."""
    with reading(sessions) as session:
        pointers = PointerService(session)
        return pointers.alias(name), pointers.history(Pointer.ALIAS, name, page)


def get_default(sessions: SessionFactory, name: str, page: SliceQuery) -> tuple[DefaultRecord, History]:
    """Return what a bare name means, and a part of the history of its default version. Raises ModelNotFound."""
    with reading(sessions) as session:
        pointers = PointerService(session)
        return pointers.default(name), pointers.history(Pointer.DEFAULT, name, page)


def _no_name(name: str) -> ModelNotFound:
    return ModelNotFound.at("path/name", f"no model has the name {name!r:.200}; GET /models lists all models")
