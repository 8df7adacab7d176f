"""Sentences for invalid fields of requests: the value, the rule and the way out, in the words of this service.

The framework reports one error per member of a union. The errors of one field become one sentence that lists all rules.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from app.errors import MAX_FIELD_ERRORS, FieldError, nearest, pointer_token

#: Error as the framework reports it: `type`, `loc`, `input` and, with bounds and choices, `ctx`.
Item = Mapping[str, Any]

#: Kinds of errors whose message was written in this project: the text of a ValueError.
_OWN_SENTENCES = ("value_error", "assertion_error")
_ENUMERATIONS = ("literal_error", "enum")
_QUOTED = re.compile(r"'([^']*)'")
_ANOTHER_KIND = "of another kind; the documentation of the route describes what it can be"


def field_errors(items: Iterable[Item], body: Any) -> tuple[list[FieldError], int]:
    """Return one error per invalid field, as many as an answer lists, and how many fields are invalid.

    body: the parsed body, in which the pointers are looked up.
    """
    items_of: dict[str, list[Item]] = {}
    for item in items:
        items_of.setdefault(_pointer(item, body), []).append(item)
    outer = {ancestor for pointer in items_of for ancestor in _ancestors(pointer)}
    # A field with an error inside of it has the form of one member of a union, and the others do not matter.
    inner = {pointer: same_field for pointer, same_field in items_of.items() if pointer not in outer}
    listed = islice(inner.items(), MAX_FIELD_ERRORS)
    return [FieldError(pointer, _sentence(pointer, same_field)) for pointer, same_field in listed], len(inner)


def _ancestors(pointer: str) -> Iterator[str]:
    """Yield the pointers to the fields around a field of the body, without the body itself."""
    while pointer.rfind("/") > 0:
        pointer = pointer[: pointer.rfind("/")]
        yield pointer


def _pointer(item: Item, body: Any) -> str:
    """Return the location of an error as a JSON pointer into the body, or as `query/NAME` and the like.

    The framework adds names of union members to the location. They are not in the body, so they are left out.
    """
    source, *rest = item["loc"] or ("body",)
    written: list[str] = []
    here: Any = body
    for part in rest:
        inside = (isinstance(here, dict) and part in here) or (isinstance(here, list) and isinstance(part, int))
        if inside:
            here = here[part]
        is_parameter = source != "body" and not written
        if inside or is_parameter or (item["type"] == "missing" and part == rest[-1]):
            written.append(pointer_token(str(part)))
    return "/".join(["" if source == "body" else str(source), *written]) or "/"


def _sentence(pointer: str, items: list[Item]) -> str:
    own = [str(item["msg"]).partition(", ")[2] for item in items if item["type"] in _OWN_SENTENCES]
    if own:
        return "; ".join(dict.fromkeys(own))
    name = _field_name(pointer)
    for item in items:
        if item["type"] in _WHOLE_SENTENCES:
            return _WHOLE_SENTENCES[item["type"]](name, item)
    rules = dict.fromkeys(_rule(item) for item in items)
    value = items[0].get("input")
    return f"{name or 'the body'} is {_shown(value)}{_must_be(value, map(_choices, items))} {', or '.join(rules)}"


def _choices(item: Item) -> str:
    """Return the texts that the value can be, in quotes, or an empty text if its rule is no list of choices."""
    return str(item["ctx"]["expected"]) if item["type"] in _ENUMERATIONS else ""


def _must_be(value: Any, choices: Iterable[str]) -> str:
    """Return the text between a value and its rule, with the choice that is spelled most like the value, if one is."""
    known = [text for listed in choices for text in _QUOTED.findall(listed)]
    near = nearest(value, known) if isinstance(value, str) else ""
    return f"{near} It must be" if near else "; it must be"


def _field_name(pointer: str) -> str:
    """Return the name of a field as sentences call it; entries of lists have only a position."""
    around, _, name = pointer.rpartition("/")
    return f"{around.rpartition('/')[2]}[{name}]" if name.isdigit() else name


def _shown(value: Any) -> str:
    if isinstance(value, dict | list | tuple):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of length {len(value)}"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return f"{value!r:.80}" if isinstance(value, str | int | float) else "not readable"


def _unknown_kind(name: str, item: Item) -> str:
    kind, value = _discriminator(item), item.get("input")
    # In the context of the error, the tag is text: null is 'None'.
    tag = value.get(kind) if isinstance(value, dict) else item["ctx"]["tag"]
    known = item["ctx"]["expected_tags"]
    return f"{kind} is {_shown(tag)}{_must_be(tag, [known])} one of {known}"


def _no_kind(name: str, item: Item) -> str:
    kind, known = _discriminator(item), item["ctx"].get("known")
    rule = f"add it: one of {_listed(known)}" if known else "add it, because it selects one of the alternatives"
    return f"{kind} is missing in {name}; {rule}"


def _unknown_key(name: str, item: Item) -> str:
    context = item.get("ctx") or {}
    known, owners = context.get("known"), context.get("owners")
    if owners:
        places = " or ".join(map(repr, owners))
        return f"{name} is not a known key here; remove it, or move it into {places}, where it may be allowed"
    if not known:
        return f"{name} is not a known key here; remove it or correct its spelling"
    near = nearest(name, known)
    remove = " Remove it, or use" if near else "; remove it, or use"
    return f"{name} is not a known key here{near}{remove} one of {_listed(known)}"


def _listed(known: Iterable[str]) -> str:
    return ", ".join(map(repr, known))


def _discriminator(item: Item) -> str:
    return str(item["ctx"]["discriminator"]).strip("'")


#: Sentences of errors that are not about a value.
_WHOLE_SENTENCES: dict[str, Callable[[str, Item], str]] = {
    "missing": lambda name, _: f"{name} is missing; it is required, add it" if name else "the body is empty; send JSON",
    "extra_forbidden": _unknown_key,
    "too_many_files": lambda name, _: f"{name} is given more than once; upload one file at a time",
    "union_tag_invalid": _unknown_kind,
    "union_tag_not_found": _no_kind,
}


def _rule(item: Item) -> str:
    """Return what the value must be, as it continues `it must be`."""
    context = item.get("ctx") or {}
    if item["type"] in _BOUNDS:
        phrase, key = _BOUNDS[item["type"]]
        limit = context[key]
        return f"{_noun(item)}{phrase} {limit if isinstance(limit, int) else format(limit, '.10g')}"
    if item["type"] in _LENGTHS:
        noun, phrase, key = _LENGTHS[item["type"]]
        if context.get("field_type") == "Dictionary":
            noun = "an object"
        unit = ("character" if noun == "text" else "entry") if context[key] == 1 else _UNITS[noun]
        return f"{noun} with {phrase} {context[key]} {unit}"
    if item["type"] in _ENUMERATIONS:
        return _choices(item)
    return _RULES.get(item["type"], _ANOTHER_KIND)


def _noun(item: Item) -> str:
    """Return the type of a bounded number, which a union names in the location."""
    member = str(item["loc"][-1]) if item["loc"] else ""
    nouns = {"constrained-int": "an integer ", "constrained-float": "a number "}
    return next((noun for name, noun in nouns.items() if name in member), "")


_BOUNDS = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("at most", "le"),
    "multiple_of": ("a multiple of", "multiple_of"),
}
_LENGTHS = {
    "too_short": ("a list", "at least", "min_length"),
    "too_long": ("a list", "at most", "max_length"),
    "string_too_short": ("text", "at least", "min_length"),
    "string_too_long": ("text", "at most", "max_length"),
}
_UNITS = {"text": "characters", "a list": "entries", "an object": "entries"}
_RULES = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "an integer"),
    "int_parsing_size": "an integer of fewer digits",
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    "finite_number": "a finite number",
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "none_required": "null",
    "string_type": "text",
    "string_unicode": "text without halves of surrogate pairs",
    "bytes_type": "a file",
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "iterable_type"), "a list"),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), "an object"),
    **dict.fromkeys(("uuid_type", "uuid_parsing"), "an id as the service returns it (a UUID)"),
    **dict.fromkeys(("json_type", "json_invalid"), "text in JSON"),
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_from_date_parsing", "timezone_aware"),
        "a time such as 2026-11-21T09:00:00Z",
    ),
}
