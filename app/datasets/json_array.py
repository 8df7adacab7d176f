"""JSON arrays in files of any size, one item at a time."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from app.datasets.errors import UnreadableFile
from app.datasets.json_texts import UnclearJson, parse_json_at
from app.settings import MEBIBYTE

_CHUNK_CHARACTERS = MEBIBYTE
_MAX_ITEM_CHARACTERS = 16 * MEBIBYTE
_BLANKS = re.compile(r"[ \t\n\r]*")


def items_of_array(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the line in which each item of the array begins, from 1, and the item. Raises UnreadableFile."""
    with path.open(encoding="utf-8-sig", newline="") as source:
        text = _Text(source)
        try:
            yield from _items(text)
        except UnicodeDecodeError as error:
            detail = f"the text after line {text.line} is not UTF-8; save the file as UTF-8, or name its `encoding`"
            raise UnreadableFile.at("/file", detail) from error


def _items(text: "_Text") -> Iterator[tuple[int, Any]]:
    text.require("[")
    if text.next_sign() != "]":
        yield text.line, text.item()
        while text.next_sign() == ",":
            text.require(",")
            text.next_sign()
            yield text.line, text.item()
    text.require("]")
    text.require("")


class _Text:
    """Text of a file, of which one item at a time is in memory. line: number of the line at the current place."""

    def __init__(self, source: TextIO) -> None:
        self._source = source
        self._text, self._place = "", 0
        self._is_complete = False
        self.line = 1

    def next_sign(self) -> str:
        """Pass blanks, and return the character that follows them; "" at the end of the file."""
        while True:
            self._pass(_BLANKS.match(self._text, self._place).end())  # type: ignore[union-attr]
            if self._place < len(self._text) or self._is_complete:
                return self._text[self._place : self._place + 1]
            self._read(_CHUNK_CHARACTERS)

    def require(self, sign: str) -> None:
        """Pass this sign, which must be the next one. Raises UnreadableFile."""
        found = self.next_sign()
        if found != sign:
            needed = {"": "the end of the file", "]": "a comma or the end of the array"}.get(sign, repr(sign))
            shown = repr(found) if found else "the end of the file"
            raise UnreadableFile.at("/file", f"line {self.line} has {shown} in place of {needed}; write a single array")
        self._pass(self._place + len(sign))

    def item(self) -> Any:
        """Pass the item that begins here, and return it. Raises UnreadableFile."""
        while True:
            try:
                item, end = parse_json_at(self._text, self._place)
            except UnclearJson as error:
                raise UnreadableFile.at("/file", f"the item that begins in line {self.line} has {error}") from error
            except ValueError as error:
                if self._can_be_longer():
                    continue
                raise self._no_item() from error
            self._pass(end)
            return item

    def _can_be_longer(self) -> bool:
        """Read as much as is in memory already. Return whether there was more, and the item may have so much."""
        n_before = len(self._text) - self._place
        if self._is_complete or n_before > _MAX_ITEM_CHARACTERS:
            return False
        self._read(max(n_before, _CHUNK_CHARACTERS))
        return True

    def _no_item(self) -> UnreadableFile:
        detail = (
            f"the item that begins in line {self.line} is not a JSON object of at most {_MAX_ITEM_CHARACTERS} "
            "characters; write objects with a comma between them"
        )
        return UnreadableFile.at("/file", detail)

    def _pass(self, place: int) -> None:
        self.line += self._text.count("\n", self._place, place)
        self._place = place

    def _read(self, n_characters: int) -> None:
        chunk = self._source.read(n_characters)
        self._is_complete = not chunk
        self._text, self._place = self._text[self._place :] + chunk, 0
