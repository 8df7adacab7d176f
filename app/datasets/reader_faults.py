"""Errors of files that cannot be read within the limits, or at all."""

from app.datasets.errors import TooManyCategories, UnreadableFile
from app.errors import DecodedTooLarge
from app.settings import Limits

_LESS_MEMORY = (
    "leave columns out, shorten texts and labels, write a Parquet file with smaller row groups "
    "(`row_group_size=10_000` of `to_parquet` of pandas and `write_table` of pyarrow) or an Arrow file with smaller "
    "record batches (`chunksize=10_000` of `to_feather`, `max_chunksize=10_000` of `write_table` of pyarrow's stream "
    "writer), or raise the limit"
)


def decoded_too_large(limits: Limits) -> DecodedTooLarge:
    """Return the error of a table that cannot be read within the limit of memory."""
    return DecodedTooLarge.at("/file", f"reading the file {_too_much(limits)}; {_LESS_MEMORY}")


def crashed(limits: Limits) -> UnreadableFile:
    """Return the error of a file whose reader crashed, as some libraries do when they get no memory."""
    detail = (
        "the reader of the file crashed: either the file is damaged, which writing it again would mend, or reading it "
        f"{_too_much(limits)}; in that case, send fewer rows, {_LESS_MEMORY}"
    )
    return UnreadableFile.at("/file", detail)


def _too_much(limits: Limits) -> str:
    return f"takes more than {limits.max_decoded_bytes} bytes of memory, the limit BRISTLECONE_MAX_DECODED_BYTES"


def summary_too_large(max_bytes: int) -> TooManyCategories:
    """Return the error of a table whose columns and categories are too much for one answer."""
    detail = (
        f"the names and categories of all columns have more than {max_bytes} bytes together; leave columns out with "
        "`exclude` or the type `ignored`, or shorten their categories"
    )
    return TooManyCategories.at("/file", detail)


def unreadable(finding: str) -> UnreadableFile:
    """Return the error of a file that no reader can read. finding: what happened."""
    detail = f"the file is damaged or not what it says it is: {finding}; write it again and upload all of it"
    return UnreadableFile.at("/file", detail)
