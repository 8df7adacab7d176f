"""Reading of uploads in a child of `app.reader_process`, which has hard limits.

`app.datasets.remote_reader` is the other end of the conversation.
"""

import errno
import json
import logging
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from app.datasets.formats import FileFormat, PlainFile, decompressed, detect_format, too_large
from app.datasets.ingestion import ingest
from app.datasets.options import UploadOptions
from app.datasets.reader_faults import decoded_too_large, summary_too_large, unreadable
from app.errors import ServiceError
from app.settings import MEBIBYTE, Limits

log = logging.getLogger(__name__)

#: Most JSON that a data set keeps in its row, which every answer about it is made of.
MAX_SUMMARY_BYTES = 32 * MEBIBYTE

#: Exceptions that libraries raise for files that they cannot read. Anything else is a bug.
_FAULTS_OF_FILES = (pa.ArrowException, ValueError, ArithmeticError, LookupError, RecursionError, AssertionError)


#: Answers one kind of request within the limits.
Task = Callable[[dict[str, Any], Limits], dict[str, Any]]


def handled(tasks: Mapping[str, Task], request: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a request to one of the tasks, or the error that it leads to."""
    limits = Limits(**request["limits"])
    try:
        return {"result": tasks[request["task"]](request, limits)}
    except ServiceError as error:
        return _refused(error)
    except MemoryError:
        return _refused(decoded_too_large(limits))
    except OSError as error:
        if error.errno == errno.EFBIG:
            return _refused(too_large(limits.max_upload_bytes))
        return {"os_error": [error.errno, error.strerror]}
    except _FAULTS_OF_FILES as error:
        _log_place(error)
        return _refused(unreadable(f"its reader reported {type(error).__name__}"))


def _refused(error: ServiceError) -> dict[str, Any]:
    return {"error": {"code": error.code, "detail": error.detail, "errors": [asdict(item) for item in error.errors]}}


def _log_place(error: BaseException) -> None:
    """Log where an error was raised, but not its message, which can contain data of users."""
    frames = traceback.extract_tb(error.__traceback__)
    places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames[-6:]))
    log.warning("a file made its reader raise %s at %s", type(error).__name__, places)


def _prepare(request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Decompress a file and detect its format."""
    file = decompressed(_file(request), Path(request["target"]), limits.max_upload_bytes)
    file_format = detect_format(file.path, _declared(request), request["encoding"])
    return {"path": str(file.path), "sha256": file.sha256, "n_bytes": file.n_bytes, "format": file_format}


def _ingest(request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Write the stored form of a file, and return what its data set remembers of it."""
    options = UploadOptions.from_json(request["options"])
    table = ingest(_file(request), _declared(request), options, limits, Path(request["canonical"]))
    summary = asdict(table.summary())
    if len(json.dumps(summary)) > MAX_SUMMARY_BYTES:
        raise summary_too_large(MAX_SUMMARY_BYTES)
    return summary


UPLOAD_TASKS: Mapping[str, Task] = {"prepare": _prepare, "ingest": _ingest}


def _file(request: dict[str, Any]) -> PlainFile:
    file = request["file"]
    return PlainFile(Path(file["path"]), file["sha256"], file["n_bytes"])


def _declared(request: dict[str, Any]) -> FileFormat | None:
    return None if request["declared"] is None else FileFormat(request["declared"])


def warm_up() -> None:
    """Read a small table in two formats: what libraries prepare at their first use, children then have already."""
    with TemporaryDirectory(prefix="bristlecone-") as folder:
        text, table, canonical = (Path(folder) / name for name in ("text", "table", "canonical"))
        text.write_text("number,fraction,day,word,label\n" + "7,0.5,2024-05-31,x,a\n8,,2024-06-01,y,b\n" * 5)
        pq.write_table(pa_csv.read_csv(text), table)
        for path in (text, table):
            ingest(PlainFile(path, "", 0), None, UploadOptions(target="label", name=""), Limits(), canonical)
