"""Fields by which users describe what is stored, and find it again."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints
from pydantic.json_schema import SkipJsonSchema

from app.storage.plain_text import without_nul

TagText = Annotated[str, StringConstraints(min_length=1, max_length=100), AfterValidator(without_nul)]
DescriptionText = Annotated[str, StringConstraints(max_length=10_000), AfterValidator(without_nul)]


def _listed(tags: list[str] | None) -> list[str]:
    if tags is None:
        raise ValueError("tags is null; it must be a list, send [] to remove all tags, or leave the key out")
    return tags


#: Tags in a change; a change that does not name them keeps them, so that the default never counts.
TagList = Annotated[Annotated[list[TagText], Field(max_length=100)] | SkipJsonSchema[None], AfterValidator(_listed)]
