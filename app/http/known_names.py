"""Names of known keys and kinds, for errors about unknown keys and missing kinds. The framework does not list them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from pydantic import BaseModel

Schema = Mapping[str, Any]


def with_known_names(model: type[BaseModel], item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an error of the validation of `model`, with the known keys or kinds at its location as `known` in `ctx`,
    and the fields beside an unknown key that have such a key as `owners`.

    item: error as the framework reports it, with a location in the body. Others than those of unknown keys and missing
    kinds are returned as they are.
    """
    # All entries of a list are alike, so that few locations differ.
    location = tuple(0 if isinstance(part, int) else part for part in item["loc"])
    if item["type"] == "extra_forbidden":
        names = {"known": _known_keys(model, location[:-1]), "owners": _owners(model, location)}
    elif item["type"] == "union_tag_not_found":
        names = {"known": _known_kinds(model, location)}
    else:
        return item
    return {**item, "ctx": {**item.get("ctx", {}), **names}}


@lru_cache(1_000)
def _known_keys(model: type[BaseModel], location: tuple[str | int, ...]) -> tuple[str, ...]:
    return tuple(sorted({name for branch in _inside(model, location) for name in branch.get("properties", ())}))


def _owners(model: type[BaseModel], location: tuple[str | int, ...]) -> tuple[str, ...]:
    *outside, name = location
    fields = _known_keys(model, tuple(outside))
    return tuple(field for field in fields if name in _known_keys(model, (*outside, field)))


@lru_cache(1_000)
def _known_kinds(model: type[BaseModel], location: tuple[str | int, ...]) -> tuple[str, ...]:
    return tuple(kind for mapping in map(_kinds, _inside(model, location)) for kind in mapping)


def _inside(model: type[BaseModel], location: Sequence[str | int]) -> list[Schema]:
    """Return the schemas that a value at the location can have. Names of union members in it are passed over."""
    schema = _schema(model)
    branches = list(_branches(schema, schema))
    for part in location:
        inner = [inner for branch in branches for inner in _step(branch, part)]
        if inner:
            branches = [branch for one in inner for branch in _branches(one, schema)]
    return branches


@cache
def _schema(model: type[BaseModel]) -> Schema:
    return model.model_json_schema()


def _branches(here: Schema, whole: Schema) -> Iterator[Schema]:
    """Yield the schemas of all members of a union, and of members that are unions."""
    if "$ref" in here:
        yield from _branches(whole["$defs"][here["$ref"].rpartition("/")[2]], whole)
        return
    yield here
    for key in ("anyOf", "oneOf", "allOf"):
        for member in here.get(key, ()):
            yield from _branches(member, whole)


def _step(branch: Schema, part: str | int) -> Iterator[Schema]:
    """Yield the schema of a field, of an entry or of the member of a union that has this kind."""
    if isinstance(part, int):
        yield from filter(None, [branch.get("items")])
    elif part in branch.get("properties", {}):
        yield branch["properties"][part]
    elif part in _kinds(branch):
        yield {"$ref": _kinds(branch)[part]}


def _kinds(branch: Schema) -> Mapping[str, str]:
    """Return the reference of each kind of a union, or nothing if it has no kinds."""
    mapping: Mapping[str, str] = branch.get("discriminator", {}).get("mapping", {})
    return mapping
