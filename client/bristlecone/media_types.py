"""Media types of files by their endings."""

from collections.abc import Mapping
from pathlib import Path

ARROW = "application/vnd.apache.arrow.stream"
NDJSON = "application/x-ndjson"
PARQUET = "application/vnd.apache.parquet"

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
    ".parquet": PARQUET,
    ".arrow": "application/vnd.apache.arrow.file",
    ".feather": "application/vnd.apache.arrow.file",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
#: Files whose rows can be predicted.
PREDICTED: Mapping[str, str] = {**_TEXTS, ".parquet": PARQUET, ".arrows": ARROW}
#: Files that predictions can be written to.
ANSWERED: Mapping[str, str] = {suffix: media_type for suffix, media_type in PREDICTED.items() if suffix != ".tsv"}


def media_type_of(name: str, types: Mapping[str, str], way_out: str = "") -> str:
    """Return the media type of a file by its ending. way_out: end of the message. Raises ValueError."""
    suffix = Path(name).suffix.lower()
    if suffix not in types:
        raise ValueError(
            f"the format of {name!r} is not known by its ending {suffix!r}; use one of {', '.join(types)}{way_out}"
        )
    return types[suffix]
