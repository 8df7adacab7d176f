"""Limit of texts that are stored beside a table and shown in answers: categories, labels, groups and names."""

from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from app.datasets.options import UploadOptions
from app.errors import TextTooLong


def longest_bytes(texts: pa.Array) -> int:
    """Return the size of the longest text in UTF-8; 0 if there is none."""
    longest: int | None = pc.max(pc.binary_length(texts)).as_py() if len(texts) else None
    return longest or 0


def text_too_long(pointer: str, finding: str, max_bytes: int, way_out: str) -> TextTooLong:
    """Return the error of a text. finding: what has it, such as "the target 'y' has a label"."""
    limit = f"the limit BRISTLECONE_MAX_TEXT_BYTES is {max_bytes} bytes in UTF-8"
    return TextTooLong.at(pointer, f"{finding} that is too long; {limit}: {way_out}, or raise the limit")


def shortened(text: str, max_characters: int) -> str:
    """Return the text, cut after so many characters; "…" is the last of them if it is."""
    return text if len(text) <= max_characters else text[: max_characters - 1] + "…"


def require_short_options(options: UploadOptions, max_bytes: int) -> None:
    """Raise TextTooLong for what an upload says about the table, as far as columns of the table do not limit it."""
    require_short("/name", "the data set has a name", options.name, max_bytes)
    for text in chain(options.reading.nulls or (), *options.reading.column_nulls.values()):
        require_short("/nulls", "nulls has a text", text, max_bytes)


def require_short(pointer: str, finding: str, text: str, max_bytes: int, way_out: str = "shorten it") -> None:
    """Raise TextTooLong if a text is longer than the limit."""
    if len(text.encode("utf-8", "surrogatepass")) > max_bytes:
        raise text_too_long(pointer, finding, max_bytes, way_out)
