"""Rows to predict as numbers: of one request, in memory or in a file, which is read in pieces."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.predictions.coercion import FeatureEncoder, Leniency
from app.predictions.errors import Faults, NoRows
from app.predictions.forms import Table, sliced

#: Cells that are encoded at once.
_CELLS_PER_PIECE = 1_000_000


class EncodedRows(Protocol):
    """Rows of numbers, in the order of the columns of an estimator."""

    @property
    def n_rows(self) -> int: ...

    def pieces(self, most_rows: int) -> Iterator[NDArray[np.float64]]:
        """Yield all rows as float64 (row, feature), at most so many at once."""
        ...


@dataclass(frozen=True)
class RowsInMemory:
    """Few rows. X: float64 (row, feature)."""

    X: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        return len(self.X)

    def pieces(self, most_rows: int) -> Iterator[NDArray[np.float64]]:
        for start in range(0, self.n_rows, most_rows):
            yield self.X[start : start + most_rows]


@dataclass(frozen=True)
class RowsInFile:
    """Rows that `write_rows` has written: float64 in the byte order of the machine, one row after the other."""

    path: Path
    n_rows: int
    n_features: int

    @property
    def n_bytes(self) -> int:
        return 8 * self.n_rows * self.n_features

    def pieces(self, most_rows: int) -> Iterator[NDArray[np.float64]]:
        with self.path.open("rb") as file:
            for start in range(0, self.n_rows, most_rows):
                n_rows = min(most_rows, self.n_rows - start)
                yield np.fromfile(file, np.float64, n_rows * self.n_features).reshape(n_rows, self.n_features)


def write_rows(
    tables: Iterable[Table], encoder: FeatureEncoder, leniency: Leniency, path: Path, max_rows: int
) -> RowsInFile:
    """Write the rows of all tables to a new file. It stops after more than `max_rows`, which the caller refuses.

    Raises:
        Invalid: a row cannot be read; NoRows: there are none.
    """
    n_rows = 0
    with path.open("xb") as out:
        for table in tables:
            for piece in _pieces(table, len(encoder.columns)):
                encoder.matrix(piece, leniency, Faults()).tofile(out)
            n_rows += table.n_rows
            if n_rows > max_rows:
                break
    if n_rows == 0:
        raise NoRows.at("body", "the body has no rows; send at least one row")
    return RowsInFile(path, n_rows, len(encoder.columns))


def _pieces(table: Table, n_features: int) -> Iterator[Table]:
    most_rows = max(1, _CELLS_PER_PIECE // max(1, n_features))
    if table.n_rows <= most_rows:
        yield table
        return
    for start in range(0, table.n_rows, most_rows):
        yield sliced(table, start, most_rows)
