"""Interface of all readers of files: record batches, for any number of passes, with one batch in memory.

Cells of text files are read as text; `app.datasets.detection` finds their types.
"""

from collections.abc import Iterator, Sequence, Set
from typing import Protocol

import pyarrow as pa

from app.datasets.errors import DuplicateColumn, InvalidColumnName, TooManyColumns
from app.datasets.text_limits import require_short
from app.settings import Limits

MAX_NAME_CHARACTERS = 500
#: Beginning of the name of a column that has none in its file; its position follows, from 0.
UNNAMED = "Unnamed: "


class TableReader(Protocol):
    """Reader of one file. `schema` has all columns of the file.

    is_text: whether all columns are read as text, because the file has no types. delimiter: that of a text file.
    fractions: columns read as text that contain numbers of the file itself, which are written with a decimal point.
    """

    schema: pa.Schema
    is_text: bool

    @property
    def fractions(self) -> Set[str]: ...

    @property
    def delimiter(self) -> str | None: ...

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows, with these columns in this order."""
        ...

    def with_texts_cut(self, max_characters: int) -> "TableReader":
        """Return a reader that may cut longer texts, so that it takes less memory and time."""
        ...

    def without_nulls(self) -> "TableReader":
        """Return a reader of the texts that mean "missing", where the file has them."""
        ...

    def place(self, row: int) -> str:
        """Return the text for a 0-based row: "row 3", and if the file has lines "row 3 (line 5)"."""
        ...


def column_names(header: Sequence[str]) -> list[str]:
    """Return the cells of a header as names of columns, without surrounding blanks.

    Columns without a name are called as pandas calls them, `Unnamed: 3` in fourth place: the row numbers of a frame,
    and what spreadsheets add to the right of a table.
    """
    names = [cell.strip() for cell in header]
    if not any(names):
        return names
    made_up = (f"{UNNAMED}{position}" for position in range(len(names)))
    return [name or (f"{new}.1" if new in names else new) for name, new in zip(names, made_up, strict=True)]


def check_names(names: Sequence[str], limits: Limits) -> None:
    """Raise an error if these are not valid names of columns.

    Raises:
        TooManyColumns, InvalidColumnName, TextTooLong, DuplicateColumn.
    """
    if len(names) > limits.max_columns:
        limit = f"the limit BRISTLECONE_MAX_COLUMNS is {limits.max_columns}"
        detail = f"the file has {len(names)} columns; {limit}: upload fewer columns, or raise the limit"
        raise TooManyColumns.at("/file", detail)
    for position, name in enumerate(names, 1):
        if not name or len(name) > MAX_NAME_CHARACTERS or "\0" in name:
            detail = (
                f"column {position} needs a name of 1 to {MAX_NAME_CHARACTERS} characters without NUL; "
                "name it in the header (a column of row numbers can then be left out with `exclude`)"
            )
            raise InvalidColumnName.at("/file", detail)
        require_short("/file", f"column {position} has a name", name, limits.max_text_bytes, "rename it")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DuplicateColumn.at("/file", f"two columns have the name {name!r}; rename one of them")
        seen.add(name)
