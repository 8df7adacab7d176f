"""JSON columns can be converted to text before the transaction; both databases store the same values."""

from dataclasses import dataclass
from typing import Any

from app.context import ServiceContext
from app.datasets.service import dataset_named_at
from app.storage.json_text import serialized, to_json_text, with_serialized_fields
from tests.factories import make_dataset


@dataclass(frozen=True)
class _Record:
    name: str
    values: dict[str, Any]
    missing: dict[str, Any] | None = None


def test_the_text_is_made_once() -> None:
    value = serialized({"a": [1.5, None]})
    assert value == {"a": [1.5, None]}
    assert to_json_text(value) is to_json_text(serialized(value))
    assert to_json_text({"b": 1}) == '{"b": 1}'


def test_fields_of_records() -> None:
    record = with_serialized_fields(_Record("made", {"a": 1}))
    assert record == _Record("made", {"a": 1})
    assert to_json_text(record.values) is to_json_text(record.values)


def test_databases_store_the_text(context: ServiceContext) -> None:
    classes = [{"label": "ü\u2028", "count": 2}, {"label": 1.5, "count": 1}]
    dataset_id = make_dataset(context, classes=serialized(classes), roles=serialized({"weight": None, "group": "g"}))
    dataset = dataset_named_at(context.sessions, "/", dataset_id)
    assert (dataset.classes, dataset.roles) == (classes, {"weight": None, "group": "g"})
