"""Explanation of the errors of the libraries that read files."""

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from app.datasets.errors import NotUtf8, UnreadableFile
from app.settings import MEBIBYTE

CSV_BLOCK_BYTES = MEBIBYTE


@contextmanager
def explained_errors() -> Iterator[None]:
    """Raise the errors of the block as UnreadableFile or NotUtf8."""
    try:
        yield
    except (pa.ArrowException, OSError, csv.Error, UnicodeDecodeError) as error:
        raise _explained(error) from error


def _explained(error: Exception) -> NotUtf8 | UnreadableFile:
    message = str(error)
    line = re.search(r"Row #(\d+)", message)
    where = f" in line {line[1]}" if line else ""
    if isinstance(error, UnicodeDecodeError) or "UTF8" in message:
        detail = (
            f"the text{where} is not valid UTF-8; save the file as UTF-8, or send `encoding`, for example latin-1 or "
            "cp1252"
        )
        return NotUtf8.at("/file", detail)
    fields = re.search(r"Expected (\d+) columns, got (\d+)", message)
    if fields:
        n_fields = int(fields[2])
        found = "is 1 field" if n_fields == 1 else f"are {n_fields} fields"
        detail = f"there {found}{where} but {fields[1]} in the header; correct `delimiter` or quotes"
        return UnreadableFile.at("/file", detail)
    if "straddling" in message:
        detail = f"a row is longer than {CSV_BLOCK_BYTES // 2} bytes or a quote is never closed; correct the quotes"
        return UnreadableFile.at("/file", detail)
    return UnreadableFile.at("/file", f"the file{where} is damaged or incomplete; write it again and upload all of it")
