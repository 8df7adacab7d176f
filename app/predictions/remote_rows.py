"""Reading of rows to predict in a child process, whose crash, memory and time concern nobody else."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.datasets.errors import (
    UPLOAD_ERRORS,
    DatasetFileDamaged,
    DatasetFileMissing,
    DuplicateColumn,
    FileTypeMismatch,
    InvalidColumnName,
    NotUtf8,
    TooManyColumns,
    UndecodableText,
    UnknownEncoding,
    UnreadableFile,
    UploadReaderLost,
    UploadTooSlow,
    repoint,
)
from app.datasets.remote_reader import asked, reading_child
from app.errors import DecodedTooLarge, Invalid, InvalidJson, NestedTooDeeply, ServiceError
from app.operations.forked_client import Conversation
from app.predictions.coercion import FeatureEncoder, Leniency
from app.predictions.encoded_rows import RowsInFile
from app.predictions.errors import FORM_ERRORS, INPUT_ERRORS
from app.settings import Limits

_RAISED: tuple[type[ServiceError], ...] = (
    *UPLOAD_ERRORS, *FORM_ERRORS, *INPUT_ERRORS,
    DatasetFileMissing, DatasetFileDamaged, Invalid, InvalidJson, NestedTooDeeply, DecodedTooLarge,
)  # fmt: skip
_ERRORS: Mapping[str, type[ServiceError]] = {error.code: error for error in _RAISED}
#: Errors of bodies that a child reads, beside those of their rows.
READING_ERRORS = (
    DecodedTooLarge, DuplicateColumn, FileTypeMismatch, InvalidColumnName, NotUtf8, TooManyColumns, UndecodableText,
    UnknownEncoding, UnreadableFile, UploadReaderLost, UploadTooSlow,
)  # fmt: skip


#: Parts of the request that the fields of an upload are in a request for predictions.
_PLACES = {"/file": "body", "/encoding": "header/Content-Type"}


class RemoteRows:
    """Child that reads the rows of one request. Its methods raise the errors of the body."""

    def __init__(self, talk: Conversation, limits: Limits) -> None:
        self._talk, self._limits = talk, limits

    def outline(self, path: Path) -> Any:
        """Return the JSON document in this file without its rows and columns, which stay in the child."""
        return self._ask({"task": "outline", "path": str(path)})["outline"]

    def encode(
        self, source: Mapping[str, Any], encoder: FeatureEncoder, leniency: Leniency, out: Path, max_rows: int
    ) -> RowsInFile:
        """Write rows as numbers to the new file `out`. It stops after more than `max_rows`."""
        answer = self._ask(
            {
                "task": "encode",
                "source": source,
                "columns": [column.to_json() for column in encoder.columns],
                "left_out": sorted(encoder.left_out),
                "leniency": asdict(leniency),
                "out": str(out),
                "max_rows": max_rows,
            }
        )
        return RowsInFile(out, answer["n_rows"], len(encoder.columns))

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return asked(self._talk, self._limits, request, _ERRORS)
        except ServiceError as error:
            repoint(error, lambda place: _PLACES.get(place, place))
            raise


@contextmanager
def remote_rows(limits: Limits) -> Iterator[RemoteRows]:
    """Yield a reader for one request. The caller bounds how many there are. Raises UploadReaderLost."""
    with reading_child(limits) as talk:
        yield RemoteRows(talk, limits)
