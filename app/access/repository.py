"""Queries of API keys."""

import uuid
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.orm import Session

from app.access.records import ApiKey
from app.access.scopes import Scope
from app.access.tables import ApiKeyRow
from app.storage.orm import utc_now


class ApiKeyRepository:
    """API keys of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, row: ApiKeyRow) -> ApiKey:
        self._session.add(row)
        self._session.flush()
        return _record(row)

    def all(self) -> list[ApiKey]:
        """Return all keys, also those that have ended, oldest first."""
        return [_record(row) for row in self._session.scalars(select(ApiKeyRow).order_by(ApiKeyRow.created_at))]

    def get(self, key_id: uuid.UUID) -> ApiKey | None:
        """Return the key, locked until the transaction ends."""
        row = self._session.get(ApiKeyRow, key_id, with_for_update=True)
        return _record(row) if row else None

    def count(self) -> int:
        return self._session.scalar(select(func.count()).select_from(ApiKeyRow)) or 0

    def delete(self, key_id: uuid.UUID) -> None:
        self._session.execute(delete(ApiKeyRow).where(ApiKeyRow.id == key_id))

    def any(self) -> bool:
        return self._session.scalar(select(ApiKeyRow.id).limit(1)) is not None

    def revoke(self, key_id: uuid.UUID) -> ApiKey | None:
        """Revoke a key, unless it was revoked before. Return None if there is no such key."""
        row = self._session.get(ApiKeyRow, key_id)
        if row is None:
            return None
        row.revoked_at = row.revoked_at or utc_now()
        return _record(row)

    def note_used(self, hours: Mapping[uuid.UUID, datetime]) -> int:
        """Store when keys were used, where that is later than what is stored. Return how many were changed."""
        n_changed = 0
        for key_id, hour in sorted(hours.items()):
            is_older = or_(ApiKeyRow.last_used_at.is_(None), ApiKeyRow.last_used_at < hour)
            query = update(ApiKeyRow).where(ApiKeyRow.id == key_id, is_older).values(last_used_at=hour)
            changed = self._session.scalars(query.returning(ApiKeyRow.id))
            n_changed += len(changed.all())
        return n_changed


def _record(row: ApiKeyRow) -> ApiKey:
    return ApiKey(
        id=row.id,
        name=row.name,
        sha256=row.sha256,
        scopes=frozenset(map(Scope, row.scopes)),
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        last_used_at=row.last_used_at,
    )
