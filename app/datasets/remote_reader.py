"""Reading of uploads in children of a process of their own (`app.reader_process`), a few at a time."""

import errno
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.datasets.errors import UPLOAD_ERRORS, TooManyUploads, UploadReaderLost, UploadTooSlow
from app.datasets.formats import FileFormat, PlainFile
from app.datasets.options import UploadOptions
from app.datasets.reader_faults import crashed, unreadable
from app.datasets.scratch_files import remove_scratch
from app.datasets.table_summary import TableSummary
from app.errors import FieldError, ServiceError
from app.operations.forked_client import ChildEnded, Conversation, ForkServer
from app.operations.forked_tasks import ChildLimits
from app.settings import MEBIBYTE, Limits

#: So many uploads wait while others are read, and so long; the rest is refused. Hundreds of small files are read in
#: that time; behind large ones, a client had better hear at once that it must come back.
MAX_WAITING = 32
WAIT_SECONDS = 5.0

#: A stored table may be a little larger than the file that it comes from.
_SPARE_FILE_BYTES = 64 * MEBIBYTE
_OUT_OF_RESOURCES = {errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
_ERRORS: dict[str, type[ServiceError]] = {error.code: error for error in UPLOAD_ERRORS}


@dataclass(frozen=True)
class PreparedFile:
    """Decompressed upload and its format."""

    file: PlainFile
    file_format: FileFormat


class RemoteReader:
    """Child that reads one upload. Its methods raise the errors of an upload, UploadTooSlow and UploadReaderLost."""

    def __init__(self, talk: Conversation, limits: Limits) -> None:
        self._talk, self._limits = talk, limits

    def prepare(
        self, received: PlainFile, target: Path, declared: FileFormat | None, encoding: str | None
    ) -> PreparedFile:
        """Decompress a file, to the new path `target` if it is compressed, and detect its format."""
        found = self._ask("prepare", received, declared, target=str(target), encoding=encoding)
        file = PlainFile(Path(found["path"]), found["sha256"], found["n_bytes"])
        return PreparedFile(file, FileFormat(found["format"]))

    def ingest(
        self, file: PlainFile, declared: FileFormat | None, options: UploadOptions, canonical: Path
    ) -> TableSummary:
        """Write the stored form of `file` to the new path `canonical` and return the summary of the table."""
        try:
            answer = self._ask("ingest", file, declared, options=asdict(options), canonical=str(canonical))
        finally:
            # A child that was killed could not do so.
            remove_scratch(canonical)
        return TableSummary(**answer)

    def _ask(self, task: str, file: PlainFile, declared: FileFormat | None, **fields: Any) -> dict[str, Any]:
        plain = {"path": str(file.path), "sha256": file.sha256, "n_bytes": file.n_bytes}
        return asked(self._talk, self._limits, {"task": task, "file": plain, "declared": declared, **fields}, _ERRORS)


def asked(
    talk: Conversation, limits: Limits, request: Mapping[str, Any], errors: Mapping[str, type[ServiceError]]
) -> dict[str, Any]:
    """Return what a child answers. errors: those that it can name, by their codes.

    Raises:
        UploadTooSlow, UploadReaderLost, UnreadableFile: the child ended.
        OSError, and the errors that the child names.
    """
    try:
        answer = talk.ask({"limits": limits.model_dump(), **request})
    except ChildEnded as ended:
        raise _explained(ended, limits) from ended
    if "os_error" in answer:
        number, text = answer["os_error"]
        if number in _OUT_OF_RESOURCES:
            raise _lost()
        raise OSError(number or errno.EIO, text or os.strerror(errno.EIO))
    if "error" in answer:
        error = answer["error"]
        raise errors[error["code"]](error["detail"], [FieldError(**item) for item in error["errors"]])
    result: dict[str, Any] = answer["result"]
    return result


def _explained(ended: ChildEnded, limits: Limits) -> ServiceError:
    if ended.ran_out_of_time:
        detail = (
            f"reading the file takes more than {limits.max_upload_seconds:g} seconds, the limit "
            "BRISTLECONE_MAX_UPLOAD_SECONDS; upload fewer rows or columns, or raise the limit"
        )
        return UploadTooSlow.at("/file", detail)
    if ended.was_lost:
        return _lost()
    return crashed(limits) if ended.crashed else unreadable(f"reading it failed: {ended}")


def _lost() -> UploadReaderLost:
    return UploadReaderLost(
        "the process that reads the file was ended from outside, or the system has no processes, files or memory left "
        "for it; upload the file again"
    )


class _Slots:
    """Places for uploads that are read, of which there are only a few in a process, and of those that wait."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._n_held = self._n_waiting = 0

    @contextmanager
    def held(self, limit: int) -> Iterator[None]:
        """Hold one of `limit` places during the block. Raises TooManyUploads."""
        with self._changed:
            if not self._acquired(limit):
                raise _too_many(limit)
        try:
            yield
        finally:
            with self._changed:
                self._n_held -= 1
                self._changed.notify()

    def is_full(self, limit: int) -> bool:
        """Return whether as many uploads wait as can."""
        return self._n_held >= limit and self._n_waiting >= MAX_WAITING

    def _acquired(self, limit: int) -> bool:
        if self.is_full(limit):
            return False
        self._n_waiting += 1
        is_free = self._changed.wait_for(lambda: self._n_held < limit, WAIT_SECONDS)
        self._n_waiting -= 1
        self._n_held += is_free
        return is_free


def _too_many(limit: int) -> TooManyUploads:
    return TooManyUploads(
        f"{limit} uploads are being read, the limit BRISTLECONE_MAX_CONCURRENT_UPLOADS, and up to {MAX_WAITING} others "
        f"wait for at most {WAIT_SECONDS:g} seconds; upload the file again later"
    )


_slots = _Slots()
_server = ForkServer("app.reader_process")


def start_reader() -> None:
    """Start the process that reads uploads and bodies, so that the first one need not wait for it."""
    _server.start()


def refuse_when_full(limits: Limits) -> None:
    """Raise TooManyUploads if one more would be refused at once. Called before an upload is received."""
    if _slots.is_full(limits.max_concurrent_uploads):
        raise _too_many(limits.max_concurrent_uploads)


@contextmanager
def remote_reader(limits: Limits) -> Iterator[RemoteReader]:
    """Yield a reader for one upload.

    Raises:
        TooManyUploads: too many others are being read, or wait.
        UploadReaderLost: the system has no process for it.
    """
    with _slots.held(limits.max_concurrent_uploads), reading_child(limits) as talk:
        yield RemoteReader(talk, limits)


@contextmanager
def reading_child(limits: Limits) -> Iterator[Conversation]:
    """Yield a conversation with a child that may take the time and memory of one table.

    The caller bounds how many there are at once. Raises UploadReaderLost if the system has no process for it.
    """
    child = ChildLimits(
        seconds=limits.max_upload_seconds,
        memory_bytes=limits.max_decoded_bytes,
        file_bytes=limits.max_upload_bytes + _SPARE_FILE_BYTES,
    )
    with ExitStack() as stack:
        try:
            talk = stack.enter_context(_server.conversation(child))
        except ChildEnded as ended:
            raise _lost() from ended
        yield talk
