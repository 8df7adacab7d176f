"""Comparison of trained models, value by value."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.trained_models.records import ComparableModel
from app.trained_models.repository import TrainedModelRepository
from app.trained_models.service import TrainedModelService, not_found
from app.trained_models.store import ArtifactStore

#: Longest JSON text of a value that a comparison shows, such as a short list.
_MAX_SHOWN = 200
_LINEAGE = ("kind", "seed", "dataset_id", "data_sha256", "code_version", "fit_seconds", "size_bytes")


@dataclass(frozen=True)
class ComparedValue:
    """Values of one name in all compared models; None if a model has none."""

    name: str
    values: list[Any]
    differs: bool


@dataclass(frozen=True)
class Comparison:
    """Values of models in the order in which they were named."""

    models: list[ComparableModel]
    lineage: list[ComparedValue]
    parameters: list[ComparedValue]
    evaluation: list[ComparedValue]
    metrics: list[ComparedValue]
    noise: list[ComparedValue]


def compare_models(session: Session, store: ArtifactStore, references: Sequence[str]) -> Comparison:
    """Return what the models are compared by, side by side. Raises ModelNotFound."""
    service = TrainedModelService(session, store)
    ids = [service.identify(reference).id for reference in references]
    found = TrainedModelRepository(session).comparable(ids)
    for model_id, reference in zip(ids, references, strict=True):
        if model_id not in found:
            raise not_found(reference)
    models = [found[model_id] for model_id in ids]
    return Comparison(
        models=models,
        lineage=_compared([{name: _plain(getattr(model, name)) for name in _LINEAGE} for model in models]),
        parameters=_compared([_flat(model.parameters) for model in models]),
        evaluation=_compared([_flat(model.evaluation or {}) for model in models]),
        metrics=_numbers(_compared([_flat(model.metrics) for model in models])),
        noise=_compared([_flat(model.noise) for model in models]),
    )


def _compared(columns: Sequence[Mapping[str, Any]]) -> list[ComparedValue]:
    """Return the values of each name that occurs, in the order of its first occurrence."""
    names = dict.fromkeys(name for column in columns for name in column)
    return [_compared_value(name, [column.get(name) for column in columns]) for name in names]


def _compared_value(name: str, values: list[Any]) -> ComparedValue:
    # As JSON, because True equals 1 in Python.
    texts = [json.dumps(value, sort_keys=True) for value in values]
    shown = [_shown(value, text) for value, text in zip(values, texts, strict=True)]
    return ComparedValue(name, shown, differs=len(set(texts)) > 1)


def _shown(value: Any, text: str) -> Any:
    """Return a value, or its size and digest if it is a long list, such as a matrix."""
    if len(text) <= _MAX_SHOWN:
        return value
    return f"{len(text):,} characters of JSON with SHA-256 {hashlib.sha256(text.encode()).hexdigest()}"


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested objects as one level with dotted names, such as `loss.lambda`."""
    return dict(_leaves(values, ""))


def _leaves(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _numbers(compared: list[ComparedValue]) -> list[ComparedValue]:
    """Return the values that are numbers in all models that have them."""
    return [each for each in compared if all(map(_is_number_or_none, each.values))]


def _is_number_or_none(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str) else str(value)
