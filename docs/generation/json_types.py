"""Types of the OpenAPI document in words, with links between schemas."""

from collections.abc import Mapping
from typing import Any

from docs.generation.markdown import code, literal, table

Schema = Mapping[str, Any]

_LIMITS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
    "minLength": "length at least",
    "maxLength": "length at most",
    "minItems": "length at least",
    "maxItems": "length at most",
}


def anchor(name: str) -> str:
    """Return the link target of a schema."""
    return f"schema-{name.strip('_').lower()}"


def type_text(schema: Schema) -> str:
    """Return the type of one value, as a phrase."""
    if "$ref" in schema:
        return _link(schema["$ref"].rsplit("/", 1)[1])
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return ", or ".join(dict.fromkeys(type_text(member) for member in schema[union]))
    if "const" in schema:
        return literal(schema["const"])
    if "enum" in schema:
        return ", ".join(literal(value) for value in schema["enum"])
    return _plain(schema)


def fields_table(schema: Schema) -> str:
    """Return the table of an object's fields."""
    required = schema.get("required", ())
    rows = [field_row(name, field, name in required) for name, field in schema["properties"].items()]
    return table(("field", "type", "default", "meaning"), rows)


def field_row(name: str, schema: Schema, required: bool, place: str | None = None) -> tuple[str, ...]:
    """Return one row of a table: the name, its place if there is one, type, default and meaning."""
    default = "required" if required else literal(schema["default"]) if "default" in schema else ""
    where = () if place is None else (place,)
    return code(name), *where, type_text(schema), default, schema.get("description", "")


def _link(name: str) -> str:
    return f"[{name.strip('_')}](#{anchor(name)})"


def _plain(schema: Schema) -> str:
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items") or {}
        return f"array of {type_text(items)}{_limits(schema)}"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"object of {type_text(values)}" if isinstance(values, Mapping) and values else "object"
    if kind is None:
        return "any value"
    names = " or ".join(kind) if isinstance(kind, list) else str(kind)
    shown = f"{names} ({schema['format']})" if "format" in schema else names
    return shown + _limits(schema)


def _limits(schema: Schema) -> str:
    return "".join(f", {words} {schema[name]:,g}" for name, words in _LIMITS.items() if name in schema)
