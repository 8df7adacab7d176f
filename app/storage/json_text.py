"""JSON values that are converted to text before the transaction that writes them.

A large value takes seconds to convert. Without this, the driver would do it while the transaction is open.
"""

from dataclasses import fields
from typing import Any, TypeVar

from app.storage.json_pieces import json_text

Record = TypeVar("Record")


class _SerializedDict(dict[str, Any]):
    text: str


class _SerializedList(list[Any]):
    text: str


def serialized(value: Any) -> Any:
    """Return a copy of a dict or list that carries its JSON text, and any other value as it is.

    The copy must not be changed any more.
    """
    if isinstance(value, _SerializedDict | _SerializedList) or not isinstance(value, dict | list):
        return value
    carrier = _SerializedDict(value) if isinstance(value, dict) else _SerializedList(value)
    carrier.text = json_text(value)
    return carrier


def with_serialized_fields(record: Record) -> Record:
    """Return a copy of a dataclass, with the dicts and lists among its fields `serialized`."""
    values = {field.name: serialized(getattr(record, field.name)) for field in fields(record)}  # type: ignore[arg-type]
    return type(record)(**values)


def to_json_text(value: Any) -> str:
    """Return the JSON text of a value; the serializer of every engine."""
    return value.text if isinstance(value, _SerializedDict | _SerializedList) else json_text(value)
