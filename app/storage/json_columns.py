"""Parts of JSON columns, computed by the database, so that lists do not load what they do not show.

Names of keys become part of the SQL statement: letters, digits and underscores only.
"""

from functools import cache, reduce
from operator import add
from typing import Any

from sqlalchemy import JSON, BigInteger, ColumnElement, Integer, inspect, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from app.storage.orm import Base, Json

Path = tuple[str, ...]


class json_bytes(FunctionElement[int]):
    """Bytes of the text of a JSON column, which the database loads to count them; 0 if it is null."""

    type = BigInteger()
    inherit_cache = True
    name = "json_bytes"


@compiles(json_bytes, "postgresql")
def _json_bytes_postgresql(element: json_bytes, compiler: SQLCompiler, **kw: Any) -> str:
    return f"coalesce(octet_length(CAST({compiler.process(element.clauses, **kw)} AS TEXT)), 0)"


@compiles(json_bytes, "sqlite")
def _json_bytes_sqlite(element: json_bytes, compiler: SQLCompiler, **kw: Any) -> str:
    return f"coalesce(length(CAST({compiler.process(element.clauses, **kw)} AS BLOB)), 0)"


@cache
def stored_json_bytes(row_type: type[Base]) -> ColumnElement[int]:
    """Return the bytes of all JSON columns of a row together, as text."""
    attributes = inspect(row_type).column_attrs
    columns = [each.columns[0] for each in attributes if isinstance(each.columns[0].type, JSON)]
    return reduce(add, map(json_bytes, columns))


class _JsonFunction(FunctionElement[Any]):
    """Function of a JSON column and of names of keys.

    The names are a second argument, which is not rendered: compiled statements are cached by their arguments. A class
    of functions says for itself that it is cached by them (`inherit_cache`).
    """

    def __init__(self, column: InstrumentedAttribute[Any], names: object) -> None:
        super().__init__(column, literal_column(repr(names)))

    def column_sql(self, compiler: SQLCompiler, **kw: Any) -> str:
        """Return the SQL of the column."""
        return compiler.process(next(iter(self.clauses)), **kw)


class json_length(_JsonFunction):
    """Number of entries of a list at a path in a JSON column; null if there is none."""

    type = Integer()
    inherit_cache = True
    name = "json_length"

    def __init__(self, column: InstrumentedAttribute[Any], *path: str) -> None:
        super().__init__(column, path)
        self.path = path


@compiles(json_length, "postgresql")
def _json_length_postgresql(element: json_length, compiler: SQLCompiler, **kw: Any) -> str:
    part = f"({element.column_sql(compiler, **kw)} #> {_array(element.path)})"
    return f"(CASE jsonb_typeof({part}) WHEN 'array' THEN jsonb_array_length({part}) END)"


@compiles(json_length, "sqlite")
def _json_length_sqlite(element: json_length, compiler: SQLCompiler, **kw: Any) -> str:
    column, path = element.column_sql(compiler, **kw), _dotted(element.path)
    return f"(CASE json_type({column}, {path}) WHEN 'array' THEN json_array_length({column}, {path}) END)"


class json_part(_JsonFunction):
    """Value at a path in a JSON column, or null: without a path the whole column."""

    type = Json
    inherit_cache = True
    name = "json_part"

    def __init__(self, column: InstrumentedAttribute[Any], *path: str) -> None:
        super().__init__(column, path)
        self.path = path


@compiles(json_part, "postgresql")
def _json_part_postgresql(element: json_part, compiler: SQLCompiler, **kw: Any) -> str:
    return f"({element.column_sql(compiler, **kw)} #> {_array(element.path)})"


@compiles(json_part, "sqlite")
def _json_part_sqlite(element: json_part, compiler: SQLCompiler, **kw: Any) -> str:
    # The stored JSON text, also of a scalar: `json_extract` would round numbers to 15 digits.
    return f"({element.column_sql(compiler, **kw)} -> {_dotted(element.path)})"


class json_without(_JsonFunction):
    """JSON column without the values at some paths."""

    type = Json
    inherit_cache = True
    name = "json_without"

    def __init__(self, column: InstrumentedAttribute[Any], *paths: Path) -> None:
        super().__init__(column, paths)
        self.paths = paths


@compiles(json_without, "postgresql")
def _json_without_postgresql(element: json_without, compiler: SQLCompiler, **kw: Any) -> str:
    removed = "".join(f" #- {_array(path)}" for path in element.paths)
    return f"({element.column_sql(compiler, **kw)}{removed})"


@compiles(json_without, "sqlite")
def _json_without_sqlite(element: json_without, compiler: SQLCompiler, **kw: Any) -> str:
    removed = "".join(f", {_dotted(path)}" for path in element.paths)
    return f"json_remove({element.column_sql(compiler, **kw)}{removed})"


class count_by(_JsonFunction):
    """Object with the number of entries of a JSON list by the text at a key."""

    type = Json
    inherit_cache = True
    name = "count_by"

    def __init__(self, column: InstrumentedAttribute[Any], key: str) -> None:
        super().__init__(column, key)
        self.key = key


@compiles(count_by, "postgresql")
def _count_by_postgresql(element: count_by, compiler: SQLCompiler, **kw: Any) -> str:
    entries = f"jsonb_array_elements({element.column_sql(compiler, **kw)}) AS entry"
    counts = f"SELECT entry ->> '{element.key}' AS name, count(*) AS n FROM {entries} GROUP BY 1"
    return f"(SELECT jsonb_object_agg(counts.name, counts.n) FROM ({counts}) AS counts)"


@compiles(count_by, "sqlite")
def _count_by_sqlite(element: count_by, compiler: SQLCompiler, **kw: Any) -> str:
    entries = f"json_each({element.column_sql(compiler, **kw)}) AS entry"
    counts = f"SELECT json_extract(entry.value, '$.{element.key}') AS name, count(*) AS n FROM {entries} GROUP BY 1"
    return f"(SELECT json_group_object(counts.name, counts.n) FROM ({counts}) AS counts)"


class entries_without(_JsonFunction):
    """JSON list of objects without one of their keys."""

    type = Json
    inherit_cache = True
    name = "entries_without"

    def __init__(self, column: InstrumentedAttribute[Any], key: str) -> None:
        super().__init__(column, key)
        self.key = key


@compiles(entries_without, "postgresql")
def _entries_without_postgresql(element: entries_without, compiler: SQLCompiler, **kw: Any) -> str:
    entries = f"jsonb_array_elements({element.column_sql(compiler, **kw)}) WITH ORDINALITY"
    listed = f"jsonb_agg(each.entry - '{element.key}' ORDER BY each.number)"
    return f"(SELECT coalesce({listed}, '[]'::jsonb) FROM {entries} AS each(entry, number))"


@compiles(entries_without, "sqlite")
def _entries_without_sqlite(element: entries_without, compiler: SQLCompiler, **kw: Any) -> str:
    entries = f"json_each({element.column_sql(compiler, **kw)}) AS entry"
    return f"(SELECT json_group_array(json_remove(entry.value, '$.{element.key}')) FROM {entries})"


def _array(path: Path) -> str:
    return "'{" + ",".join(path) + "}'"


def _dotted(path: Path) -> str:
    return "'$" + "".join(f'."{key}"' for key in path) + "'"
