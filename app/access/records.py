"""Copies of API keys that need no session."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from app.access.scopes import Scope


@dataclass(frozen=True)
class ApiKey:
    """API key without its secret."""

    id: uuid.UUID
    name: str
    sha256: str
    scopes: frozenset[Scope]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    def end(self, now: datetime) -> str | None:
        """Return how and when the key ended, as in `expired at …`; None if it can be used."""
        if self.revoked_at is not None:
            return f"was revoked at {self.revoked_at:%Y-%m-%dT%H:%M:%SZ}"
        if self.expires_at is not None and self.expires_at <= now:
            return f"expired at {self.expires_at:%Y-%m-%dT%H:%M:%SZ}"
        return None
