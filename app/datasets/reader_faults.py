"""Errors of files that cannot be read within the limits, or at all."""

from app.datasets.errors import TooManyCategories, UnreadableFile
from app.errors import DecodedTooLarge
from app.settings import Limits


def decoded_too_large(limits: Limits) -> DecodedTooLarge:
    """Return the error of a table that cannot be read within the limit of memory."""
    detail = (
        f"reading the file takes more than {limits.max_decoded_bytes} bytes of memory, the limit "
        "BRISTLECONE_MAX_DECODED_BYTES; write it with smaller row groups (`row_group_size=10_000` of `to_parquet` of "
        "pandas and `write_table` of pyarrow) or record batches (`chunksize=10_000` of `to_feather`, "
        "`max_chunksize=10_000` of `write_table` of pyarrow's stream writer), with shorter texts and labels or fewer "
        "columns, or raise the limit"
    )
    return DecodedTooLarge.at("/file", detail)


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
