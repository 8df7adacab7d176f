"""Explanation of the errors of the libraries that read files."""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

from app.datasets.errors import NotUtf8, UnreadableFile
from app.errors import ServiceError
from app.settings import MEBIBYTE
from app.storage.disk_space import is_full

CSV_BLOCK_BYTES = MEBIBYTE

#: A file is missing or too large, or too many are open: nothing that another upload would mend.
_SYSTEM_FAULTS = {errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOENT}


@contextmanager
def explained_errors(has_encoding: bool = True) -> Iterator[None]:
    """Raise the errors of the block, which only reads a file, as UnreadableFile or NotUtf8.

    has_encoding: whether the upload can say in which encoding the text of the file is.
    """
    try:
        yield
    except (ServiceError, MemoryError):
        raise
    except Exception as error:  # Libraries raise whatever the damaged part leads to.
        if _is_fault_of_the_system(error):
            raise
        raise _explained(error, has_encoding) from error


def _is_fault_of_the_system(error: Exception) -> bool:
    # Reading writes intermediate files, too.
    return is_full(error) or (isinstance(error, OSError) and error.errno in _SYSTEM_FAULTS)


def _explained(error: Exception, has_encoding: bool) -> NotUtf8 | UnreadableFile:
    message = str(error)
    line = re.search(r"Row #(\d+)", message)
    where = f" in line {line[1]}" if line else ""
    if isinstance(error, UnicodeDecodeError) or "UTF8" in message:
        way_out = (
            "save the file as UTF-8, or name its encoding, for example latin-1 or cp1252: in `encoding` of an upload, "
            "in the charset of Content-Type of a prediction"
        )
        if not has_encoding:
            way_out = "the format of the file requires it for names and texts; write the file again"
        return NotUtf8.at("/file", f"the text{where} is not valid UTF-8; {way_out}")
    fields = re.search(r"Expected (\d+) columns, got (\d+)", message)
    if fields:
        n_fields = int(fields[2])
        found = "is 1 field" if n_fields == 1 else f"are {n_fields} fields"
        detail = f"there {found}{where} but {fields[1]} in the header; correct the row, its quotes or the delimiter"
        return UnreadableFile.at("/file", detail)
    if "straddling" in message:
        detail = f"a row is longer than {CSV_BLOCK_BYTES // 2} bytes or a quote is never closed; correct the quotes"
        return UnreadableFile.at("/file", detail)
    return UnreadableFile.at("/file", f"the file{where} is damaged or incomplete; write it again and upload all of it")
