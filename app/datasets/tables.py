"""Table of data sets. Their contents are files in the store."""

from typing import Any

from sqlalchemy import BigInteger, String, Text
from sqlalchemy.orm import Mapped, mapped_column, query_expression

from app.storage.orm import Base, CreatedMixin, IdMixin


class DatasetRow(IdMixin, CreatedMixin, Base):
    """Uploaded table."""

    __tablename__ = "datasets"

    name: Mapped[str] = mapped_column(String(200), index=True)
    #: SHA-256 of the decompressed upload.
    sha256: Mapped[str] = mapped_column(String(64), index=True)
    description: Mapped[str | None] = mapped_column(Text)
    #: Texts by which users find the data set again.
    tags: Mapped[list[Any]] = mapped_column(default=list)
    #: SHA-256 of content, roles, types and reading. Two uploads with the same fingerprint are the same data set.
    fingerprint: Mapped[str] = mapped_column(String(64), unique=True)
    n_rows: Mapped[int] = mapped_column(BigInteger)
    #: Rows with a label; the others are stored, but models are not trained on them.
    n_labeled: Mapped[int] = mapped_column(BigInteger)
    n_bytes: Mapped[int] = mapped_column(BigInteger)
    target: Mapped[str] = mapped_column(String(500))
    #: {"weight", "group"}: names of columns, or null.
    roles: Mapped[dict[str, Any]]
    #: How the file was read, such as {"delimiter", "encoding", "decimal"}; empty if it is not known.
    reading: Mapped[dict[str, Any]]
    #: [{"column", "code", "detail", "rows"}]
    warnings: Mapped[list[Any]] = mapped_column(default=list)
    #: [{"label", "count"}] in class order.
    classes: Mapped[list[Any]]
    #: Entries of `app.datasets.profiling.FeatureProfile` in column order, ignored columns included.
    features: Mapped[list[Any]]

    # Computed by queries that do not load what can be large; None elsewhere.
    few_classes: Mapped[list[Any] | None] = query_expression()
    few_roles: Mapped[dict[str, Any] | None] = query_expression()
    n_classes: Mapped[int | None] = query_expression()
    n_excluded: Mapped[int | None] = query_expression()
    n_features: Mapped[dict[str, Any] | None] = query_expression()
    n_warnings: Mapped[int | None] = query_expression()
    #: The features without their categories.
    few_features: Mapped[list[Any] | None] = query_expression()
