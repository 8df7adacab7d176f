"""Media types of files by their endings."""

from collections.abc import Collection, Mapping
from pathlib import Path

ARROW = "application/vnd.apache.arrow.stream"
NDJSON = "application/x-ndjson"
PARQUET = "application/vnd.apache.parquet"
_ARROW_FILE = "application/vnd.apache.arrow.file"
_WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

_TEXTS = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".ndjson": NDJSON,
    ".jsonl": NDJSON,
    ".json": "application/json",
}
#: Files that can be uploaded.
UPLOADED: Mapping[str, str] = {
    **_TEXTS,
    ".txt": "text/csv",
    ".tab": "text/tab-separated-values",
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".arrow": _ARROW_FILE,
    ".feather": _ARROW_FILE,
    ".ipc": _ARROW_FILE,
    ".arrows": ARROW,
    ".xlsx": _WORKBOOK,
    ".xlsm": _WORKBOOK,
}
#: Files whose rows can be predicted.
PREDICTED: Mapping[str, str] = {**_TEXTS, ".parquet": PARQUET, ".arrows": ARROW}
#: Files that predictions can be written to.
ANSWERED: Mapping[str, str] = {suffix: media_type for suffix, media_type in PREDICTED.items() if suffix != ".tsv"}

#: Content encodings of compressed files by the ending that follows that of the format.
COMPRESSIONS: Mapping[str, str] = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd"}
#: Endings of files that the standard library decompresses in every version of Python.
GZIP = tuple(suffix for suffix, encoding in COMPRESSIONS.items() if encoding == "gzip")


def media_type_of(name: str, types: Mapping[str, str], *, compressed: Collection[str] = (), way_out: str = "") -> str:
    """Return the media type of a file by its ending.

    compressed: endings of compressed files, which may follow that of the format. way_out: end of the message.

    Raises ValueError.
    """
    *_, inner, outer = ["", "", *(suffix.lower() for suffix in Path(name).suffixes)]
    suffix, also = (inner, outer) if outer in compressed else (outer, "")
    if suffix not in types:
        more = f", each also with one of {', '.join(compressed)}" if compressed else ""
        raise ValueError(
            f"the format of {name!r} is not known by its ending {suffix + also!r}; use one of {', '.join(types)}{more}"
            f"{way_out}"
        )
    return types[suffix]
