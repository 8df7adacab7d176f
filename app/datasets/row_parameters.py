"""Query parameters that select rows of a data set."""

from typing import Annotated

from fastapi import Query
from pydantic import AfterValidator

from app.datasets.row_texts import RowSelection
from app.errors import Invalid

_MAX_ROWS, _DEFAULT_ROWS = 1_000, 50
#: Rows far apart are in row groups of their own, each of which has to be read.
_MAX_NUMBERED_ROWS = 200


def _row_numbers(text: str | None) -> str | None:
    """Return a list of row numbers as it is. Raises ValueError if it is not one."""
    rule = f"it must be at most {_MAX_NUMBERED_ROWS} numbers from 0 on, separated by commas, such as 3,17"
    if text is not None:
        numbers = text.split(",")
        if len(numbers) > _MAX_NUMBERED_ROWS or not all(n.isascii() and n.isdigit() and len(n) < 19 for n in numbers):
            raise ValueError(f"rows is {text[:80]!r}; {rule}")
    return text


RowOffset = Annotated[int | None, Query(ge=0, le=2**62, description="first row to return, from 0 in file order")]
RowLimit = Annotated[
    int | None, Query(ge=1, le=_MAX_ROWS, description=f"most rows to return; default: {_DEFAULT_ROWS}")
]
RowNumbers = Annotated[
    str | None,
    AfterValidator(_row_numbers),
    Query(description="numbers of the rows to return, in place of `offset` and `limit`", examples=["3,17"]),
]


def row_selection(offset: int | None, limit: int | None, rows: str | None) -> RowSelection:
    """Return the rows that the parameters select. Raises Invalid."""
    numbered = None if rows is None else [int(row) for row in rows.split(",")]
    if numbered is not None and (offset is not None or limit is not None):
        detail = "rows is given together with offset or limit, which it replaces; send either rows or the others"
        raise Invalid.at("query/rows", detail)
    return RowSelection(numbered, offset or 0, _DEFAULT_ROWS if limit is None else limit)
