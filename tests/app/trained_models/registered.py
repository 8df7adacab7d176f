"""Further versions of trained models for tests, with the file of a first one."""

from dataclasses import fields
from typing import Any

from app.context import ServiceContext
from app.storage.database import writing
from app.trained_models.records import NewTrainedModel, TrainedModelRecord
from app.trained_models.service import TrainedModelService


def like(row: TrainedModelRecord, **changed: Any) -> NewTrainedModel:
    """Return a model that differs from a registered one in some fields."""
    values = {field.name: getattr(row, field.name) for field in fields(NewTrainedModel)}
    return NewTrainedModel(**(values | changed))


def register(context: ServiceContext, new: NewTrainedModel) -> TrainedModelRecord:
    with writing(context.sessions) as session:
        return TrainedModelService(session, context.artifact_store).register(new)
