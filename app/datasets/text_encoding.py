"""Text files in other encodings than UTF-8, which are rewritten as UTF-8."""

import codecs
import re
from pathlib import Path

from app.datasets.errors import UndecodableText, UnknownEncoding
from app.datasets.formats import CHUNK_BYTES, marked_encoding

UTF8 = "utf-8"

#: Names of character sets, as Python normalizes them; its other codecs transform text.
_CHARACTER_SETS = re.compile(
    r"ascii|utf-(8|16|32)|iso8859|cp\d|mac|koi8|kz1048|tis|big5|gb|euc|shift_jis|hz$|iso2022|johab"
)


def encoding_of(path: Path, given: str | None) -> str:
    """Return the encoding of a text file: the given one, otherwise UTF-16 or UTF-32 if the file says so, or UTF-8.

    Raises:
        UnknownEncoding: the given name does not name a character set.
    """
    if given is None:
        with path.open("rb") as source:
            return marked_encoding(source.read(4)) or UTF8
    try:
        name = codecs.lookup(given).name
    except (LookupError, ValueError):
        name = ""
    if not _CHARACTER_SETS.match(name):
        detail = f"encoding is {given!r:.100}; it must be the name of a character set, such as utf-8, latin-1 or cp1252"
        raise UnknownEncoding.at("/encoding", detail)
    return UTF8 if name == "utf-8-sig" else name


def write_as_utf8(path: Path, encoding: str, target: Path) -> None:
    """Write the text of `path` to the new file `target`. Raises UndecodableText."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    with path.open("rb") as source, target.open("xb") as out:
        while True:
            chunk = source.read(CHUNK_BYTES)
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeError as error:
                raise _undecodable(encoding, line, chunk, error) from error
            line += text.count("\n")
            out.write(text.encode())
            if not chunk:
                return


def _undecodable(encoding: str, line: int, chunk: bytes, error: UnicodeError) -> UndecodableText:
    near = line + chunk[: getattr(error, "start", 0)].count(b"\n")
    detail = (
        f"the text near line {near} is not {encoding}; name the character set that the file was saved in, or save it "
        "as UTF-8"
    )
    return UndecodableText.at("/encoding", detail)
