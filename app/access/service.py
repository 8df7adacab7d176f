"""Creation, listing and revocation of API keys."""

import hashlib
import logging
import secrets
import uuid
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import inspect

from app.access.errors import KeyInUse, KeyNotFound
from app.access.records import ApiKey
from app.access.repository import ApiKeyRepository
from app.access.scopes import Scope
from app.access.tables import ApiKeyRow
from app.logs import log_event
from app.settings import DatabaseSettings
from app.storage.database import SessionFactory, lock, may_exist, own_sessions, reading, writing
from app.storage.orm import utc_now

log = logging.getLogger(__name__)

#: Begins every key, so that people and scanners of leaked secrets recognize one.
PREFIX = "bck_"
_SECRET_BYTES = 32


class CreatedKey(NamedTuple):
    """New key. secret: what a client sends, which nobody can find out again."""

    key: ApiKey
    secret: str


def create_key(
    sessions: SessionFactory, name: str, scopes: Collection[Scope], lifetime: timedelta | None
) -> CreatedKey:
    """Store a new key and return it. lifetime: None if it does not expire."""
    secret = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
    row = ApiKeyRow(
        name=name,
        sha256=digest(secret.encode()),
        scopes=sorted(scopes),
        expires_at=None if lifetime is None else utc_now() + lifetime,
    )
    with writing(sessions) as session:
        key = ApiKeyRepository(session).add(row)
    log_event(log, "key_created", **_told(key), expires_at=key.expires_at)
    return CreatedKey(key, secret)


def list_keys(sessions: SessionFactory) -> list[ApiKey]:
    """Return all keys, also those that have ended, oldest first."""
    with reading(sessions) as session:
        return ApiKeyRepository(session).all()


def revoke_key(sessions: SessionFactory, key_id: uuid.UUID) -> ApiKey:
    """Revoke a key and return it. Raises KeyNotFound."""
    with writing(sessions) as session:
        revoked = ApiKeyRepository(session).revoke(key_id)
    if revoked is None:
        raise KeyNotFound(f"There is no API key with the id {key_id}; bristlecone keys list shows all ids.")
    log_event(log, "key_revoked", **_told(revoked))
    return revoked


def delete_key(sessions: SessionFactory, key_id: uuid.UUID) -> ApiKey:
    """Delete a key that was revoked or has expired, and return it. Raises KeyNotFound, KeyInUse."""
    with writing(sessions) as session:
        # Two commands at once must not delete the last two keys.
        lock(session, "deletion of API keys")
        keys = ApiKeyRepository(session)
        key = keys.get(key_id)
        if key is None:
            raise KeyNotFound(f"There is no API key with the id {key_id}; bristlecone keys list shows all ids.")
        if key.end(utc_now()) is None:
            raise KeyInUse(f"The API key {key.name!r} (id {key.id}) is valid; revoke it first.")
        if keys.count() == 1:
            raise KeyInUse(
                f"The API key {key.name!r} (id {key.id}) is the only one; without any key every request is answered. "
                "Create another key first."
            )
        keys.delete(key_id)
    log_event(log, "key_deleted", **_told(key))
    return key


def _told(key: ApiKey) -> dict[str, Any]:
    """Return what may be logged of a key."""
    return {"key_name": key.name, "key_id": str(key.id), "scopes": sorted(scope.value for scope in key.scopes)}


def note_used(sessions: SessionFactory, used: Mapping[uuid.UUID, float]) -> int:
    """Store when keys were last used, to the hour. used: seconds since 1970. Return how many rows were changed."""
    if not used:
        return 0
    hours = {
        key_id: datetime.fromtimestamp(seconds, UTC).replace(minute=0, second=0, microsecond=0)
        for key_id, seconds in used.items()
    }
    with writing(sessions) as session:
        return ApiKeyRepository(session).note_used(hours)


def digest(secret: bytes) -> str:
    """Return the SHA-256 by which a key is stored."""
    return hashlib.sha256(secret).hexdigest()


def has_keys(database: DatabaseSettings) -> bool:
    """Return whether keys were ever created. A database that was not created or migrated has none."""
    if not may_exist(database):
        return False
    with own_sessions(database) as sessions, reading(sessions) as session:
        has_table = inspect(session.connection()).has_table(ApiKeyRow.__tablename__)
        return has_table and ApiKeyRepository(session).any()
