"""File formats: the declared one, the detected one, and decompression."""

import csv
import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pyarrow as pa

from app.datasets.errors import EmptyFile, FileTypeMismatch, NotUtf8, UnknownFileType, UnreadableFile, UploadTooLarge
from app.settings import MEBIBYTE

CHUNK_BYTES = MEBIBYTE
SNIFFED_BYTES = 64 * 1024


class FileFormat(StrEnum):
    """Format of an upload, after decompression."""

    CSV = "CSV"
    TSV = "TSV"
    PARQUET = "Parquet"
    ARROW_FILE = "Arrow IPC file"
    ARROW_STREAM = "Arrow IPC stream"


TEXT_FORMATS = {FileFormat.CSV, FileFormat.TSV}
ARROW_FORMATS = {FileFormat.ARROW_FILE, FileFormat.ARROW_STREAM}

_FORMATS_BY_SUFFIX = {
    ".csv": FileFormat.CSV,
    ".txt": FileFormat.CSV,
    ".tsv": FileFormat.TSV,
    ".tab": FileFormat.TSV,
    ".parquet": FileFormat.PARQUET,
    ".pq": FileFormat.PARQUET,
    ".arrow": FileFormat.ARROW_FILE,
    ".feather": FileFormat.ARROW_FILE,
    ".ipc": FileFormat.ARROW_FILE,
    ".arrows": FileFormat.ARROW_STREAM,
}
_COMPRESSED_SUFFIXES = {".gz", ".gzip", ".zst", ".zstd"}

FORMATS_BY_MEDIA_TYPE = {
    "text/csv": FileFormat.CSV,
    "text/tab-separated-values": FileFormat.TSV,
    "application/vnd.apache.parquet": FileFormat.PARQUET,
    "application/vnd.apache.arrow.stream": FileFormat.ARROW_STREAM,
    "application/vnd.apache.arrow.file": FileFormat.ARROW_FILE,
}

_COMPRESSION_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True)
class PlainFile:
    """Decompressed file. sha256 and n_bytes refer to the decompressed bytes."""

    path: Path
    sha256: str
    n_bytes: int


def named_format(file_name: str) -> FileFormat | None:
    """Return the format of the extension of `file_name`, below one of a compression; None if it is unknown."""
    suffixes = [suffix.lower() for suffix in Path(file_name).suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED_SUFFIXES:
        suffixes.pop()
    return _FORMATS_BY_SUFFIX.get(suffixes[-1]) if suffixes else None


def stem(file_name: str) -> str:
    """Return `file_name` without folders and without the extensions of formats and compressions."""
    name = file_name.replace("\\", "/").rsplit("/", 1)[-1]
    for suffixes in (_COMPRESSED_SUFFIXES, set(_FORMATS_BY_SUFFIX)):
        base, dot, extension = name.rpartition(".")
        if base and dot + extension.lower() in suffixes:
            name = base
    return name


def decompressed(received: PlainFile, target: Path, max_bytes: int) -> PlainFile:
    """Return `received`, or the file `target` with its decompressed bytes if it is compressed with gzip or zstd.

    Raises:
        UploadTooLarge: there are more than `max_bytes` decompressed bytes; no more than that were written.
        UnreadableFile: the compressed data is damaged or incomplete.
    """
    with received.path.open("rb") as source:
        head = source.read(4)
    codec = next((name for magic, name in _COMPRESSION_MAGIC.items() if head.startswith(magic)), None)
    if codec is None:
        return received
    digest, n_bytes = hashlib.sha256(), 0
    with pa.OSFile(str(received.path)) as raw, pa.CompressedInputStream(raw, codec) as source, target.open("xb") as out:
        while chunk := _decompressed_chunk(source, codec):
            n_bytes += len(chunk)
            if n_bytes > max_bytes:
                raise too_large(max_bytes)
            digest.update(chunk)
            out.write(chunk)
    return PlainFile(target, digest.hexdigest(), n_bytes)


def _decompressed_chunk(source: pa.CompressedInputStream, codec: str) -> bytes:
    try:
        chunk: bytes = source.read(CHUNK_BYTES)
    except (OSError, pa.ArrowException) as error:
        detail = f"the {codec} data is damaged or incomplete; compress the file again and upload all of it"
        raise UnreadableFile.at("/file", detail) from error
    return chunk


def too_large(max_bytes: int) -> UploadTooLarge:
    """Return the error of an upload with more decompressed bytes than the limit."""
    detail = (
        f"the file has more than {max_bytes} bytes after decompression, the limit BRISTLECONE_MAX_UPLOAD_BYTES; "
        "upload fewer rows, or raise the limit"
    )
    return UploadTooLarge.at("/file", detail)


def detect_format(path: Path, declared: FileFormat | None) -> FileFormat:
    """Return the format of the bytes, which must be the declared one if there is one.

    Raises:
        EmptyFile, NotUtf8, FileTypeMismatch, UnknownFileType.
    """
    head, tail = _ends(path)
    if not head.strip():
        raise EmptyFile.at("/file", "the file is empty; upload a header line and at least one row")
    detected = _binary_format(head, tail, declared)
    if detected is None and declared not in (None, *TEXT_FORMATS):
        raise _mismatch(declared, "is not one")
    if detected is not None:
        if declared in (None, detected) or {declared, detected} <= ARROW_FORMATS:
            return detected
        raise _mismatch(declared, f"is a {detected}")
    _require_text(head, declared)
    return declared or FileFormat.CSV


def _ends(path: Path) -> tuple[bytes, bytes]:
    with path.open("rb") as source:
        head = source.read(SNIFFED_BYTES)
        source.seek(max(0, path.stat().st_size - 4))
        return head, source.read(4)


def _binary_format(head: bytes, tail: bytes, declared: FileFormat | None) -> FileFormat | None:
    # Text can begin with "PAR1" as well, so a file that is declared as text must also end like Parquet.
    if head.startswith(b"PAR1") and (tail == b"PAR1" or declared not in TEXT_FORMATS):
        return FileFormat.PARQUET
    if head.startswith(b"ARROW1\0\0"):
        return FileFormat.ARROW_FILE
    if head.startswith(b"\xff\xff\xff\xff"):
        return FileFormat.ARROW_STREAM
    return None


def _require_text(head: bytes, declared: FileFormat | None) -> None:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise NotUtf8.at("/file", "the file is UTF-16 text; save it as UTF-8")
    if b"\0" in head:
        if declared is not None:
            raise _mismatch(declared, "contains binary data")
        detail = "the type of the file is unknown; upload CSV, TSV, Parquet or Arrow IPC, also as gzip or zstd"
        raise UnknownFileType.at("/file", detail)


def _mismatch(declared: FileFormat | None, finding: str) -> FileTypeMismatch:
    detail = f"the name or content type of the file declares {declared}, but the file {finding}; rename or convert it"
    return FileTypeMismatch.at("/file", detail)


def sniff_delimiter(header: str) -> str:
    """Return the delimiter that splits the beginning of `header` into the most fields; a comma if none splits it."""
    beginning = header[:SNIFFED_BYTES]
    counts = {mark: len(next(csv.reader([beginning], delimiter=mark))) for mark in (",", ";", "\t")}
    return max(counts, key=lambda mark: counts[mark])
