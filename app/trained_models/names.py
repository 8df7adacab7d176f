"""Names of trained models, and references to them."""

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


def _checked(name: str) -> str:
    if not _NAME.match(name):
        raise ValueError(
            f"{name!r:.120} is not a model name; use 1 to 100 letters, digits, dots, hyphens and underscores, and "
            "begin with a letter or a digit"
        )
    if _ID.fullmatch(name):
        raise ValueError("a name must not have the form of an id; add a word to it")
    return name


ModelName = Annotated[str, AfterValidator(_checked), WithJsonSchema({"type": "string", "pattern": MODEL_NAME_PATTERN})]


@dataclass(frozen=True)
class Reference:
    """Reference to a trained model: its `id`, or its `name` and `version` (None = latest)."""

    id: uuid.UUID | None = None
    name: str | None = None
    version: int | None = None


def parse_reference(text: str) -> Reference | None:
    """Parse `id`, `name` or `name:version`. Return None if `text` has another form and so cannot refer to a model."""
    if _ID.fullmatch(text):
        return Reference(id=uuid.UUID(text))
    name, colon, version = text.partition(":")
    if not _NAME.match(name) or (colon and not _VERSION.fullmatch(version)):
        return None
    return Reference(name=name, version=int(version) if colon else None)
