"""Requests and answers about aliases, default versions, names and comparisons of trained models."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from app.http.descriptions import DescriptionText, TagList
from app.requests.request_model import RequestModel
from app.trained_models.names import REFERENCE_FORMS, ModelName
from app.trained_models.records import AliasRecord, DefaultRecord, MoveRecord
from app.trained_models.schemas import ModelVersionOut

_TARGET_EXAMPLE = "5b0e1a5e-6a55-4b8e-9f0c-3f5f3f2d9f10"


class ModelChanges(RequestModel):
    """Changes to a trained model; what is not named stays as it is."""

    description: DescriptionText | None = None
    tags: TagList = None

    def values(self) -> dict[str, Any]:
        """Return the values that were named. A description of null removes it."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class NewName(RequestModel):
    """New name of all versions of a model."""

    name: ModelName


class AliasTarget(RequestModel):
    """Model that an alias points to."""

    model_id: str = Field(description=REFERENCE_FORMS, examples=[_TARGET_EXAMPLE])


class DefaultVersion(RequestModel):
    """Version that a bare name means."""

    version: Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)] | None = Field(
        description="null: the newest version", examples=[3]
    )


class Move(BaseModel):
    """Move of an alias or of a default version."""

    when: datetime
    who: str | None = Field(description="null if the service has no keys")
    from_model: ModelVersionOut | None = Field(
        serialization_alias="from", description="as it was named then; null if nothing was set"
    )
    to_model: ModelVersionOut | None = Field(
        serialization_alias="to", description="as it was named then; null if it was removed"
    )

    @classmethod
    def from_record(cls, move: MoveRecord) -> Self:
        return cls.model_validate(
            {"when": move.created_at, "who": move.actor, "from_model": move.from_model, "to_model": move.to_model}
        )


class AliasItem(BaseModel):
    """Alias in a list."""

    name: str = Field(examples=["production"])
    model: ModelVersionOut = Field(description="the version that `@NAME` means")
    moved_at: datetime
    created_at: datetime

    @classmethod
    def from_record(cls, alias: AliasRecord) -> Self:
        return cls.model_validate({name: getattr(alias, name) for name in AliasItem.model_fields})


_HISTORY = Field(description="moves, newest first; also those from before a removal")
_NEXT_CURSOR = Field(description="`cursor` of the next part of the history; null if there is none")


class Alias(AliasItem):
    """Alias with a part of its history."""

    history: list[Move] = _HISTORY
    next_cursor: str | None = _NEXT_CURSOR

    @classmethod
    def from_records(cls, alias: AliasRecord, moves: list[MoveRecord], next_cursor: str | None) -> Self:
        values = {name: getattr(alias, name) for name in AliasItem.model_fields}
        history = [Move.from_record(move) for move in moves]
        return cls.model_validate({**values, "history": history, "next_cursor": next_cursor})


class DefaultOfName(BaseModel):
    """Version that a bare name means, with a part of the history of the default version."""

    name: str = Field(examples=["credit-risk"])
    version: int | None = Field(description="the default version; null if none is set")
    model: ModelVersionOut = Field(description="the version that the name means: the default, or the newest")
    history: list[Move] = _HISTORY
    next_cursor: str | None = _NEXT_CURSOR

    @classmethod
    def from_records(cls, default: DefaultRecord, moves: list[MoveRecord], next_cursor: str | None) -> Self:
        return cls.model_validate(
            {
                "name": default.name,
                "version": default.default_version,
                "model": default.model,
                "history": [Move.from_record(move) for move in moves],
                "next_cursor": next_cursor,
            }
        )


class ComparedModel(ModelVersionOut):
    """Compared model."""

    kind: str
    created_at: datetime


class ComparedValueOut(BaseModel):
    """Values of one name in all compared models."""

    model_config = ConfigDict(from_attributes=True)

    name: str = Field(examples=["loss.lambda"])
    values: list[Any] = Field(
        description="in the order of the models; null if a model has none. A long list, such as a matrix, is replaced "
        "by its size and digest",
        examples=[[0.2, 0.5]],
    )
    differs: bool


class ModelComparison(BaseModel):
    """Trained models side by side."""

    model_config = ConfigDict(from_attributes=True)

    models: list[ComparedModel]
    lineage: list[ComparedValueOut] = Field(description="kind, seed, data, version of the code, time and size")
    parameters: list[ComparedValueOut]
    evaluation: list[ComparedValueOut] = Field(
        description="which rows the metrics are about; metrics of different rows are not comparable"
    )
    metrics: list[ComparedValueOut] = Field(description="metrics that are numbers")
    noise: list[ComparedValueOut]
