"""Estimate of the memory that a JSON text takes once it is parsed, from its bytes alone."""

#: Bytes of Python objects per character that begins or separates values, generously: an entry of a list with its
#: number, a list, an object, a pair of key and value, half a string. Parsing 18 shapes of JSON took less.
_OBJECT_BYTES = {b",": 48, b"[": 96, b"{": 232, b":": 64, b'"': 32}

#: First bytes of characters beyond U+00FF and U+FFFF, for which a Python string takes 2 and 4 bytes per character.
_NOT_WIDE, _NOT_WIDEST = bytes(range(0xC4)), bytes(range(0xF0))


class JsonCost:
    """Estimate that grows as the text is received. A body is refused before all of it has arrived."""

    def __init__(self) -> None:
        self.n_bytes = 0
        self._object_bytes = 0
        self._text_width = 1
        self._value_width = 1

    @property
    def decoded_bytes(self) -> int:
        """Bytes of the text and its values at the moment when the parser ends."""
        return self._text_width * self.n_bytes + self._object_bytes + self._value_width * self.n_bytes

    def add(self, chunk: bytes) -> None:
        self.n_bytes += len(chunk)
        self._object_bytes += sum(n * chunk.count(character) for character, n in _OBJECT_BYTES.items())
        if not chunk.isascii():
            width = 4 if chunk.translate(None, _NOT_WIDEST) else 2 if chunk.translate(None, _NOT_WIDE) else 1
            self._text_width = max(self._text_width, width)
        # An escape can write any character, which widens the string that it is in, and is joined to it from parts.
        self._value_width = 8 if b"\\" in chunk else max(self._value_width, self._text_width)
