"""JSON texts that are made in pieces.

The encoder of the standard library lets no other thread run before it has encoded all of a value. So a large value is
encoded in pieces, each of them in a short time.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from types import NoneType
from typing import Any

from app.large_work import large_work_turn

#: Most values that are encoded at once; encoding so many numbers takes about a millisecond.
VALUES_PER_PIECE = 2_000
#: Characters of text that count as one value.
_CHARACTERS_PER_VALUE = 16
_PIECES_PER_UPDATE = 16

_PLAIN = {int, float, bool, NoneType}


class _PiecewiseEncoder:
    """Encoder whose pieces, joined, are what `json.dumps` returns with the same options."""

    def __init__(self, **options: Any) -> None:
        self._encoder = json.JSONEncoder(**options)

    def pieces(self, value: Any) -> Iterator[str]:
        """Yield the text of a value; that of a small value is one piece."""
        if _weight(value) <= VALUES_PER_PIECE or not isinstance(value, dict | list | tuple):
            yield self._encoder.encode(value)
        elif isinstance(value, dict):
            yield from self._of_object(value)
        else:
            yield from self._of_list(value)

    def _of_list(self, values: Sequence[Any]) -> Iterator[str]:
        before = "["
        for group in _groups(values):
            yield before
            yield from [self._encoder.encode(group)[1:-1]] if len(group) > 1 else self.pieces(group[0])
            before = self._encoder.item_separator
        yield "]"

    def _of_object(self, value: dict[Any, Any]) -> Iterator[str]:
        before = "{"
        for keys in _groups_of_keys(value, sorted(value) if self._encoder.sort_keys else value):
            yield before
            if len(keys) > 1:
                yield self._encoder.encode({key: value[key] for key in keys})[1:-1]
            else:
                yield self._encoder.encode({keys[0]: 0})[1:-2]
                yield from self.pieces(value[keys[0]])
            before = self._encoder.item_separator
        yield "}"


def _groups(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield all values in groups that are small; a value that is large is a group of its own."""
    for start in range(0, len(values), VALUES_PER_PIECE):
        part = values[start : start + VALUES_PER_PIECE]
        if _PLAIN.issuperset(map(type, part)):
            yield part
        else:
            yield from _bounded(part, map(_weight, part))


def _groups_of_keys(value: dict[Any, Any], keys: Iterable[Any]) -> Iterator[Sequence[Any]]:
    """Yield the keys of an object in such groups, by the values that belong to them."""
    ordered = list(keys)
    return _bounded(ordered, (_weight(key) + _weight(value[key]) for key in ordered))


def _bounded(entries: Iterable[Any], weights: Iterable[int]) -> Iterator[list[Any]]:
    group: list[Any] = []
    total = 0
    for entry, weight in zip(entries, weights, strict=True):
        if group and total + weight > VALUES_PER_PIECE:
            yield group
            group, total = [], 0
        group.append(entry)
        total += weight
    yield group


def _weight(value: Any) -> int:
    """Return the number of values in a value, or any number above `VALUES_PER_PIECE` if there are more."""
    if isinstance(value, str):
        return 1 + len(value) // _CHARACTERS_PER_VALUE
    if not isinstance(value, dict | list | tuple):
        return 1
    if len(value) >= VALUES_PER_PIECE:
        return 1 + len(value)
    inner: Collection[Any] = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    total = 1 + len(inner)
    if _PLAIN.issuperset(map(type, inner)):
        return total
    for entry in inner:
        total += _weight(entry) - 1
        if total > VALUES_PER_PIECE:
            break
    return total


_STORED = _PiecewiseEncoder()
#: Part of the idempotency keys of stored jobs: other options would make other digests.
_CANONICAL = _PiecewiseEncoder(sort_keys=True, separators=(",", ":"))


def json_pieces(value: Any) -> Iterator[str]:
    """Yield the JSON text of a value in pieces; that of a small value is one piece."""
    return _STORED.pieces(value)


def json_text(value: Any) -> str:
    """Return the JSON text of a value."""
    return "".join(_taking_turns(json_pieces(value)))


def canonical_sha256(value: Any) -> str:
    """Return a digest of a JSON value. The order of keys does not matter."""
    digest = hashlib.sha256()
    pieces = _taking_turns(_CANONICAL.pieces(value))
    # Few updates, because each of them lets other threads run, and then waits for its turn again.
    while some := "".join(islice(pieces, _PIECES_PER_UPDATE)):
        digest.update(some.encode())
    return digest.hexdigest()


def _taking_turns(pieces: Iterator[str]) -> Iterator[str]:
    """Yield pieces to a caller that takes all of them; one caller at a time, but small values do not wait."""
    first = list(islice(pieces, 2))
    if len(first) < 2:
        yield from first
        return
    with large_work_turn:
        yield from chain(first, pieces)
