"""Table of API keys."""

from datetime import datetime
from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.orm import Base, CreatedMixin, IdMixin


class ApiKeyRow(IdMixin, CreatedMixin, Base):
    """API key. Its secret is not stored."""

    __tablename__ = "api_keys"

    name: Mapped[str] = mapped_column(String(200))
    #: Of the whole key. A random secret of 256 bits needs no slow hash.
    sha256: Mapped[str] = mapped_column(String(64), unique=True)
    scopes: Mapped[list[Any]]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    #: To the hour.
    last_used_at: Mapped[datetime | None]
