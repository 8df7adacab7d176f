"""JSON texts of users, read by the letter of the standard."""

import json
from typing import Any


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        UnclearJson: an object has a key twice, a number is NaN or infinite, or the text is nested too deeply.
        ValueError: the text is not JSON.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError as error:
        raise UnclearJson("too many levels; write fewer arrays and objects inside each other") from error


class UnclearJson(ValueError):
    """Error of a text that many readers accept, but understand in different ways.

    The message is what the text has, and the way out: "NaN, which is not JSON; write null …".
    """


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    item = dict(pairs)
    if len(item) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in item if keys.count(key) > 1)
        raise UnclearJson(f"the key {repeated[:80]!r} twice; write each key once")
    return item


def _refuse_constant(name: str) -> Any:
    raise UnclearJson(f"{name}, which is not JSON; write null if the value is missing")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant)
