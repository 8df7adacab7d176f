"""Fields of an upload beside the file: roles and types of columns, and how text is read."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from app.datasets.column_types import ColumnKind
from core import MISSING_TEXTS

#: Part of the identity of a data set: files that were read by older rules are other data sets.
_RULES = 3

Dates = str | Mapping[str, str]


@dataclass(frozen=True)
class ReadingOptions:
    """How the texts of a file are read, as far as the upload says it; the rest is detected.

    dates: a `strptime` form that is tried first on all columns of text, or one per column. nulls: texts that mean
    "missing"; None for the default list. column_nulls: further ones, by column.
    """

    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    nulls: Sequence[str] | None = None
    dates: Dates | None = None
    column_nulls: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def date_columns(self) -> Mapping[str, str]:
        """Forms of dates of columns that are named."""
        return {} if self.dates is None or isinstance(self.dates, str) else self.dates

    @property
    def missing_texts(self) -> tuple[str, ...]:
        """Texts that mean "missing", without those of single columns."""
        return MISSING_TEXTS if self.nulls is None else tuple(self.nulls)

    def of_column(self, name: str) -> Self:
        """Return the options with all texts that mean "missing" in one column."""
        if name not in self.column_nulls:
            return self
        return replace(self, nulls=tuple(dict.fromkeys([*self.missing_texts, *self.column_nulls[name]])))


@dataclass(frozen=True)
class UploadOptions:
    """Fields of `POST /datasets` beside the file."""

    target: str
    name: str
    exclude: Sequence[str] = ()
    types: Mapping[str, ColumnKind] = field(default_factory=dict)
    weight: str | None = None
    group: str | None = None
    reading: ReadingOptions = ReadingOptions()

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the options that `dataclasses.asdict` made, after their way through JSON."""
        types = {name: ColumnKind(kind) for name, kind in values["types"].items()}
        return cls(**{**values, "types": types, "reading": ReadingOptions(**values["reading"])})

    @property
    def roles(self) -> dict[str, str | None]:
        """Columns of the roles beside the target."""
        return {"weight": self.weight, "group": self.group}

    def requested(self, name: str) -> ColumnKind | None:
        """Return the kind that types, roles and forms of dates ask for; None to detect it."""
        if name == self.weight:
            return ColumnKind.NUMERIC
        if name == self.group:
            return ColumnKind.CATEGORICAL
        dated = ColumnKind.DATETIME if name in self.reading.date_columns else None
        return self.types.get(name, dated)

    def fingerprint(self, content_sha256: str) -> str:
        """Return the identity of the data set: content, roles, types and reading, but not its name."""
        identity = {
            "rules": _RULES,
            "content": content_sha256,
            "target": self.target,
            "exclude": sorted(set(self.exclude)),
            "types": sorted(self.types.items()),
            "roles": self.roles,
            "reading": asdict(self.reading),
        }
        return hashlib.sha256(json.dumps(identity, sort_keys=True, default=list).encode()).hexdigest()
