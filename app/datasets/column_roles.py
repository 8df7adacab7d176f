"""Roles of the columns of an upload: target, weight, group, features, and those that are left out."""

import difflib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from app.datasets.canonical import GROUP, WEIGHT
from app.datasets.column_types import ColumnKind
from app.datasets.errors import (
    ConflictingRoles,
    NoFeatures,
    TargetExcluded,
    UnknownExclude,
    UnknownRole,
    UnknownTarget,
    UnknownTypedColumn,
    UnsupportedColumnType,
    column_pointer,
)
from app.datasets.options import UploadOptions
from app.datasets.reading import UNNAMED

_MAX_COMPARED = 1_000
_MAX_COMPARED_CHARACTERS = 60


@dataclass(frozen=True)
class ColumnRoles:
    """Columns of a file that are stored. features: in file order. others: columns of the roles `WEIGHT` and `GROUP`."""

    features: Sequence[str]
    others: Mapping[str, str]
    target: str

    @property
    def names(self) -> list[str]:
        """All columns in the order in which they are stored."""
        return [*self.features, *self.others.values(), self.target]


def column_roles(names: Sequence[str], options: UploadOptions) -> ColumnRoles:
    """Return the roles of the columns `names` of a file.

    Raises:
        UnknownTarget, UnknownExclude, UnknownRole, UnknownTypedColumn: the file has no such column.
        TargetExcluded, ConflictingRoles: a column has two roles.
        UnsupportedColumnType: the target is to be a date, or ignored.
        NoFeatures: no other column is left.
    """
    known = frozenset(names)
    if options.target not in known:
        raise UnknownTarget.at("/target", _unknown(options.target, names))
    _check_exclude(names, known, options)
    others = {role: name for role, name in ((WEIGHT, options.weight), (GROUP, options.group)) if name is not None}
    for role, name in others.items():
        _check_role(role, name, names, options)
    _check_types(names, known, options)
    left_out = {options.target, *options.exclude, *others.values()}
    features = [name for name in names if name not in left_out]
    if not features:
        detail = "there is no column beside the target; upload features as well, or exclude fewer columns"
        raise NoFeatures.at("/exclude" if options.exclude else "/file", detail)
    return ColumnRoles(features, others, options.target)


def _check_exclude(names: Sequence[str], known: Set[str], options: UploadOptions) -> None:
    for index, name in enumerate(options.exclude):
        if name not in known:
            raise UnknownExclude.at(f"/exclude/{index}", _unknown(name, names))
        if name == options.target:
            detail = f"{name!r} is the target and cannot be excluded; choose another target or keep the column"
            raise TargetExcluded.at(f"/exclude/{index}", detail)


def _check_role(role: str, name: str, names: Sequence[str], options: UploadOptions) -> None:
    if name not in names:
        raise UnknownRole.at(f"/{role}", _unknown(name, names))
    roles = {"the target": [options.target], "excluded": options.exclude}
    if role == GROUP:
        roles["the weight"] = [options.weight or ""]
    for other, columns in roles.items():
        if name in columns:
            detail = f"{name!r} cannot be the {role}, because it is also {other}; name another column, or none"
            raise ConflictingRoles.at(f"/{role}", detail)


def _check_types(names: Sequence[str], known: Set[str], options: UploadOptions) -> None:
    for name in options.types:
        if name not in known:
            raise UnknownTypedColumn.at(column_pointer("types", name), _unknown(name, names))
    for field, columns in (("dates", options.reading.date_columns), ("nulls", options.reading.column_nulls)):
        for name in columns:
            if name not in known:
                raise UnknownTypedColumn.at(column_pointer(field, name), _unknown(name, names))
    fixed = _fixed_kinds(options)
    for name in options.types:
        _check_type_of_role(name, fixed.get(name), options)
    target_kind = options.types.get(options.target)
    if target_kind in (ColumnKind.DATETIME, ColumnKind.IGNORED):
        detail = f"the target {options.target!r} cannot be {target_kind}; make it categorical, or choose another target"
        raise UnsupportedColumnType.at(column_pointer("types", options.target), detail)


def _fixed_kinds(options: UploadOptions) -> Mapping[str | None, ColumnKind]:
    """Return the kinds of columns that have a role."""
    kinds: dict[str | None, ColumnKind] = dict.fromkeys(options.exclude, ColumnKind.IGNORED)
    return kinds | {options.weight: ColumnKind.NUMERIC, options.group: ColumnKind.CATEGORICAL}


def _check_type_of_role(name: str, fixed: ColumnKind | None, options: UploadOptions) -> None:
    """Raise ConflictingRoles if `types` asks for another kind than `fixed`, that of the role of the column."""
    asked = options.types[name]
    if fixed not in (None, asked):
        role = "excluded" if fixed is ColumnKind.IGNORED else f"the {WEIGHT if name == options.weight else GROUP}"
        detail = f"{name[:80]!r} cannot be {asked}, because it is {role} and so {fixed}; remove it from types"
        raise ConflictingRoles.at(column_pointer("types", name), detail)


def _comparable(names: Sequence[str]) -> list[str]:
    """Return names that a misspelled one is compared with, so few and short that it takes no time."""
    return [name for name in names if len(name) <= _MAX_COMPARED_CHARACTERS][:_MAX_COMPARED]


def _unknown(name: str, names: Sequence[str]) -> str:
    folded = [other for other in names if other.casefold() == name.strip().casefold()]
    near = difflib.get_close_matches(name[:_MAX_COMPARED_CHARACTERS], _comparable(names), n=3, cutoff=0.5)
    if not names:
        return f"the file has no column {name[:80]!r}, because it has no columns; upload a table with named columns"
    shown = list(dict.fromkeys([*folded, *near])) or list(names[:5])
    listed = ", ".join(repr(other[:80]) for other in shown)
    if near or folded:
        return f"the file has no column {name[:80]!r}; did you mean {listed}?"
    has_title = len(names) == 1 or any(other.startswith(UNNAMED) for other in names)
    way_out = "; if these are a title above the header, delete it" if has_title else ""
    return f"the file has no column {name[:80]!r}; its columns begin {listed}{way_out}"
