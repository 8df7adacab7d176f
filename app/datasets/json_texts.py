"""JSON texts of users, read by the letter of the standard."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        UnclearJson: an object has a key twice, a number is NaN or infinite, the text is nested too deeply, or it has
            half of a surrogate pair, which no encoding can write.
        ValueError: the text is not JSON.
    """
    with _bounded_depth():
        value = _DECODER.decode(text)
    _require_pairs(text, 0, len(text), value)
    return value


def parse_json_at(text: str, start: int) -> tuple[Any, int]:
    """Return the JSON value that begins at this place of a text, and the place after it. Raises as `parse_json`."""
    with _bounded_depth():
        value, end = _DECODER.raw_decode(text, start)
    _require_pairs(text, start, end, value)
    return value, end


@contextmanager
def _bounded_depth() -> Iterator[None]:
    try:
        yield
    except RecursionError as error:
        raise UnclearJson("too many levels; write fewer arrays and objects inside each other") from error


def _require_pairs(text: str, start: int, end: int, value: Any) -> None:
    # Only an escape can write half of a surrogate pair.
    if text.find("\\ud", start, end) < 0 and text.find("\\uD", start, end) < 0:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise UnclearJson("half of a surrogate pair; write the character itself") from error


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
