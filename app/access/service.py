"""Creation, listing and revocation of API keys."""

import hashlib
import secrets
import uuid
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import inspect

from app.access.errors import KeyNotFound
from app.access.records import ApiKey
from app.access.repository import ApiKeyRepository
from app.access.scopes import Scope
from app.access.tables import ApiKeyRow
from app.settings import DatabaseSettings
from app.storage.database import SessionFactory, may_exist, own_sessions, reading, writing
from app.storage.orm import utc_now

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
        return CreatedKey(ApiKeyRepository(session).add(row), secret)


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
    return revoked


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
