"""Table of data sets. Their contents are files in the store."""

from typing import Any

from sqlalchemy import BigInteger, String
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.orm import Base, CreatedMixin, IdMixin


class DatasetRow(IdMixin, CreatedMixin, Base):
    """Uploaded table."""

    __tablename__ = "datasets"

    name: Mapped[str] = mapped_column(String(200), index=True)
    #: SHA-256 of the decompressed upload.
    sha256: Mapped[str] = mapped_column(String(64), index=True)
    #: SHA-256 of content, target, exclude and types. Two uploads with the same fingerprint are the same data set.
    fingerprint: Mapped[str] = mapped_column(String(64), unique=True)
    n_rows: Mapped[int] = mapped_column(BigInteger)
    n_bytes: Mapped[int] = mapped_column(BigInteger)
    target: Mapped[str] = mapped_column(String(500))
    #: [{"label", "count"}] in class order.
    classes: Mapped[list[Any]]
    #: [{"name", "kind", "missing", "min", "max", "mean", "distinct", "categories"}] in column order.
    features: Mapped[list[Any]]
