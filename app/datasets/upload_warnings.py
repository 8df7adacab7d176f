"""Warnings of an upload: what a user should check, with the way out."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

#: Most rows that a warning names.
MAX_ROWS = 5

#: Returns the text for a 0-based row: "row 3", and for text files also "(line 5)".
Place = Callable[[int], str]


@dataclass(frozen=True)
class UploadWarning:
    """Warning about a column, or about the file if `column` is None. rows: 0-based, in file order."""

    column: str | None
    code: str
    detail: str
    rows: Sequence[int] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the entry of `Dataset.warnings`."""
        return asdict(self) | {"rows": list(self.rows)}


def listed_cells(cells: Sequence[tuple[int, str]], place: Place) -> str:
    """Return cells as text: `row 3 (line 5) has 'abc', row 7 (line 9) has 'x'`."""
    return ", ".join(f"{place(row)} has {value[:80]!r}" for row, value in cells)
