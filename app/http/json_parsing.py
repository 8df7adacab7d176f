"""Parser of JSON bodies, which refuses deep nesting, and keys that occur twice: readers disagree about those."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from app.errors import DuplicateKey, FieldError, Invalid, InvalidJson, NestedTooDeeply, further_faults, pointer_token

#: Levels of lists and objects. Requests have fewer than ten.
MAX_DEPTH = 64
#: Most repeated keys that one answer lists.
_MAX_REPORTED = 20


class _RepeatedKeys(dict[str, Any]):
    """Object with keys that occur twice, which are in `repeated`."""

    repeated: tuple[str, ...] = ()


class _Objects:
    """Hook of the parser that notices repeated keys."""

    any_repeated = False

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) == len(pairs):
            return values
        self.any_repeated = True
        with_repeated = _RepeatedKeys(values)
        counts = Counter(key for key, _ in pairs)
        with_repeated.repeated = tuple(key for key, n in counts.items() if n > 1)
        return with_repeated


def parse_json_body(body: bytes, duplicate: type[Invalid] = DuplicateKey) -> Any:
    """Return the document of a body. duplicate: the error about keys that occur twice.

    Raises:
        InvalidJson: the body is not JSON.
        NestedTooDeeply: lists and objects have more than `MAX_DEPTH` levels.
        Invalid: `duplicate`, with the pointers of the keys.
    """
    objects = _Objects()
    try:
        document = json.loads(body.decode("utf-8-sig"), object_pairs_hook=objects)
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:
        raise InvalidJson.because(error) from error
    _check_depth(document)
    if objects.any_repeated:
        _refuse_repeated(document, duplicate)
    return document


def _check_depth(document: Any) -> None:
    level, depth = _containers([document]), 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise _too_deep()
        level = [inner for outer in level for inner in _containers(outer)]


def _containers(outer: Any) -> list[Any]:
    """Return the lists and objects directly inside of a list or object."""
    values = outer.values() if isinstance(outer, dict) else outer
    if set(map(type, values)).isdisjoint((list, dict, _RepeatedKeys)):
        return []
    return [value for value in values if isinstance(value, list | dict)]


def _too_deep() -> NestedTooDeeply:
    return NestedTooDeeply(f"The body is nested more than {MAX_DEPTH} levels deep; send JSON with fewer levels.")


def _refuse_repeated(document: Any, duplicate: type[Invalid]) -> None:
    errors = []
    for path, name in _repeated(document):
        pointer = "".join(f"/{pointer_token(str(part))}" for part in (*path, name))
        errors.append(FieldError(pointer, f"{name!r:.100} occurs twice; give it once"))
        if len(errors) == _MAX_REPORTED:
            break
    more = further_faults(len(errors) - 1, or_more=len(errors) == _MAX_REPORTED)
    raise duplicate(f"At {errors[0].pointer}: {errors[0].detail}{more}.", errors)


def _repeated(document: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the keys that occur twice, each with the path to its object, in the order of the body."""
    if isinstance(document, _RepeatedKeys):
        yield from ((path, name) for name in document.repeated)
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        if isinstance(value, list | dict):
            yield from _repeated(value, (*path, key))
