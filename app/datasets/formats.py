"""File formats: the declared one, the detected one, and decompression."""

import csv
import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pyarrow as pa

from app.datasets.errors import EmptyFile, FileTypeMismatch, NotUtf8, UnknownFileType, UnreadableFile, UploadTooLarge
from app.datasets.foreign_files import describe_foreign, is_workbook
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
    NDJSON = "NDJSON"
    JSON = "JSON array"
    XLSX = "Excel workbook"


JSON_FORMATS = {FileFormat.NDJSON, FileFormat.JSON}
TEXT_FORMATS = {FileFormat.CSV, FileFormat.TSV} | JSON_FORMATS
ARROW_FORMATS = {FileFormat.ARROW_FILE, FileFormat.ARROW_STREAM}

FORMATS_BY_SUFFIX = {
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
    ".ndjson": FileFormat.NDJSON,
    ".jsonl": FileFormat.NDJSON,
    ".json": FileFormat.JSON,
    ".xlsx": FileFormat.XLSX,
    ".xlsm": FileFormat.XLSX,
}
_COMPRESSED_SUFFIXES = {".gz", ".gzip", ".zst", ".zstd"}

FORMATS_BY_MEDIA_TYPE = {
    "text/csv": FileFormat.CSV,
    "text/tab-separated-values": FileFormat.TSV,
    "application/vnd.apache.parquet": FileFormat.PARQUET,
    "application/vnd.apache.arrow.stream": FileFormat.ARROW_STREAM,
    "application/vnd.apache.arrow.file": FileFormat.ARROW_FILE,
    "application/x-ndjson": FileFormat.NDJSON,
    "application/jsonl": FileFormat.NDJSON,
    "application/json": FileFormat.JSON,
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": FileFormat.XLSX,
}

_SUPPORTED = "CSV, TSV, NDJSON, a JSON array of objects, an Excel workbook (.xlsx), Parquet or Arrow IPC"

#: Byte order marks, with which a text file says its encoding. The shorter ones come last, because one of UTF-32 begins
#: with one of UTF-16.
_ENCODING_MARKS = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
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
    return FORMATS_BY_SUFFIX.get(suffixes[-1]) if suffixes else None


def stem(file_name: str) -> str:
    """Return `file_name` without folders and without the extensions of formats and compressions."""
    name = file_name.replace("\\", "/").rsplit("/", 1)[-1]
    for suffixes in (_COMPRESSED_SUFFIXES, set(FORMATS_BY_SUFFIX)):
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


def detect_format(path: Path, declared: FileFormat | None, encoding: str | None = None) -> FileFormat:
    """Return the format of the bytes, which must be the declared one if there is one.

    encoding: that of a text file, if it is known.

    Raises:
        EmptyFile, NotUtf8, FileTypeMismatch, UnknownFileType.
    """
    head, tail = _ends(path)
    if not head.strip():
        raise EmptyFile.at("/file", "the file is empty; upload a header line and at least one row")
    detected = _binary_format(path, head, tail, declared)
    if detected is not None:
        if declared in (None, detected) or {declared, detected} <= ARROW_FORMATS:
            return detected
        raise _mismatch(declared, f"is {_with_article(detected)}")
    if declared is None or declared in TEXT_FORMATS:
        _refuse_foreign(path, head, declared)
    if declared not in (None, *TEXT_FORMATS):
        foreign = describe_foreign(path, head)
        raise _mismatch(declared, f"is {foreign[0]}" if foreign else "is not one")
    if encoding is None and marked_encoding(head) is None:
        _require_text(head, declared)
    return _text_format(head, declared, is_decoded=encoding is None and marked_encoding(head) is None)


def _text_format(head: bytes, declared: FileFormat | None, is_decoded: bool) -> FileFormat:
    """Return the format of a text. is_decoded: whether it is UTF-8; otherwise JSON may look like something else."""
    found = _json_format(head)
    if found is not None and declared not in (None, *JSON_FORMATS):
        raise _mismatch(declared, f"is {_with_article(found)}")
    if found is None and declared is FileFormat.JSON and is_decoded:
        way_out = 'write an array of objects, such as [{"age": 41}, {"age": 30}], or one object per line'
        raise _mismatch(declared, "is not one", way_out)
    return found or declared or FileFormat.CSV


def marked_encoding(head: bytes) -> str | None:
    """Return the encoding that the byte order mark at the beginning of a text file names; None without a mark."""
    return next((encoding for mark, encoding in _ENCODING_MARKS.items() if head.startswith(mark)), None)


def _ends(path: Path) -> tuple[bytes, bytes]:
    with path.open("rb") as source:
        head = source.read(SNIFFED_BYTES)
        source.seek(max(0, path.stat().st_size - 4))
        return head, source.read(4)


def _binary_format(path: Path, head: bytes, tail: bytes, declared: FileFormat | None) -> FileFormat | None:
    # Text can begin with "PAR1" as well, so a file that is declared as text must also end like Parquet.
    if head.startswith(b"PAR1") and (tail == b"PAR1" or declared not in TEXT_FORMATS):
        return FileFormat.PARQUET
    if head.startswith(b"ARROW1\0\0"):
        return FileFormat.ARROW_FILE
    if head.startswith(b"\xff\xff\xff\xff"):
        return FileFormat.ARROW_STREAM
    return FileFormat.XLSX if is_workbook(path, head) else None


def _refuse_foreign(path: Path, head: bytes, declared: FileFormat | None) -> None:
    foreign = describe_foreign(path, head)
    if foreign is not None:
        name, way_out = foreign
        if declared is not None:
            raise _mismatch(declared, f"is {name}", way_out)
        raise UnknownFileType.at("/file", f"the file is {name}, which cannot be read; {way_out}")


def _require_text(head: bytes, declared: FileFormat | None) -> None:
    if b"\0" not in head:
        return
    if head[1:200:2].count(0) > 60 or head[0:200:2].count(0) > 60:
        detail = (
            "the text has a NUL in every other byte, as UTF-16 has; name it utf-16-le (or -be), in `encoding` of an "
            "upload, in the charset of Content-Type of a prediction"
        )
        raise NotUtf8.at("/file", detail)
    if declared is not None:
        raise _mismatch(declared, "contains binary data")
    detail = f"the type of the file is unknown; upload {_SUPPORTED}, also as gzip or zstd"
    raise UnknownFileType.at("/file", detail)


def _json_format(head: bytes) -> FileFormat | None:
    """Return the format of a text that begins with a JSON object or an array of objects, None for another text."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"[") and text[1:].lstrip()[:1] in (b"{", b"]"):
        return FileFormat.JSON
    return FileFormat.NDJSON if _is_object(text.split(b"\n", 1)[0].rstrip()) else None


def _is_object(line: bytes) -> bool:
    if not line.startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        # A line longer than what was read.
        return line.startswith(b'{"') and len(line) > SNIFFED_BYTES // 2


def _mismatch(declared: FileFormat | None, finding: str, way_out: str = "rename or convert it") -> FileTypeMismatch:
    assert declared is not None, "only a declared format can be contradicted"
    kind = _with_article(declared)
    detail = f"the name or content type declares {kind}, but the file {finding}; {way_out}"
    return FileTypeMismatch.at("/file", detail)


def _with_article(file_format: FileFormat) -> str:
    noun = file_format if " " in file_format else f"{file_format} file"
    return f"an {noun}" if noun[0] in "AEN" else f"a {noun}"


def sniff_delimiter(header: str) -> str:
    """Return the delimiter that splits the beginning of `header` into the most fields; a comma if none splits it."""
    beginning = header[:SNIFFED_BYTES]
    counts = {mark: len(next(csv.reader([beginning], delimiter=mark))) for mark in (",", ";", "\t", "|")}
    return max(counts, key=lambda mark: counts[mark])
