"""Names of trained models and aliases, and references to models."""

import re
import uuid
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

#: Without colon and `@`, which introduce versions and aliases in references.
MODEL_NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"

_NAME = re.compile(MODEL_NAME_PATTERN.replace("$", r"\Z"))
_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_VERSION = re.compile(r"[1-9][0-9]{0,8}")
#: Paths of the service below /models, where a name would stand.
_ROUTES = frozenset({"compare"})


def _well_formed(name: str, noun: str) -> str:
    if not _NAME.match(name):
        raise ValueError(
            f"{name!r:.120} is not {noun}; use 1 to 100 letters, digits, dots, hyphens and underscores, and begin with "
            "a letter or a digit"
        )
    return name


def _checked_alias(name: str) -> str:
    return _well_formed(name, "the name of an alias")


def _checked(name: str) -> str:
    _well_formed(name, "a model name")
    if _ID.fullmatch(name):
        raise ValueError("a name must not have the form of an id; add a word to it")
    if name in _ROUTES:
        raise ValueError(f"{name!r} is the name of a route of the service; choose another name")
    return name


#: The forms of `parse_reference`, for descriptions of parameters.
REFERENCE_FORMS = "id, name (default version, or the newest), `name:version` or `@alias` of the model"

_PATTERN = WithJsonSchema({"type": "string", "pattern": MODEL_NAME_PATTERN})
ModelName = Annotated[str, AfterValidator(_checked), _PATTERN]
#: In references it follows an `@`.
AliasName = Annotated[str, AfterValidator(_checked_alias), _PATTERN]


@dataclass(frozen=True)
class Reference:
    """Reference to a trained model: its `id`, its `name` and `version` (None = default version), or its `alias`."""

    id: uuid.UUID | None = None
    name: str | None = None
    version: int | None = None
    alias: str | None = None


def parse_reference(text: str) -> Reference | None:
    """Parse `id`, `name`, `name:version` or `@alias`. Return None if `text` has another form and refers to no model."""
    if _ID.fullmatch(text):
        return Reference(id=uuid.UUID(text))
    if text.startswith("@"):
        return Reference(alias=text[1:]) if _NAME.match(text[1:]) else None
    name, colon, version = text.partition(":")
    if not _NAME.match(name) or (colon and not _VERSION.fullmatch(version)):
        return None
    return Reference(name=name, version=int(version) if colon else None)
