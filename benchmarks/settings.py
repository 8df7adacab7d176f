"""Settings of one run of the benchmark suite."""

import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import MissingData, Table, data_folder, read_clean, real_or_synthetic


class Settings(NamedTuple):
    """Data and repetitions of one run."""

    folder: Path  # contains the Parquet files
    repeats: int
    trees: int
    jobs: int
    rows: int | None  # training rows of each table; None = all

    def tables(self) -> list[Table]:
        """Return Covertype and MNIST, or their synthetic replacements, with clean labels."""
        return _tables(self)


class Unsupported(Exception):
    """`core` does not provide the feature that a row measures."""


def skip(workload: str, reason: object) -> None:
    """Report on standard error that a row is omitted; the table on standard output stays valid."""
    print(f"skipped: {workload} ({reason})", file=sys.stderr, flush=True)


def clean_tables(
    chosen: Path | None, names: Sequence[str]
) -> Iterator[tuple[str, NDArray[np.float32], NDArray[np.int64]]]:
    """Yield the name, rows and clean labels of each table that the data folder has; report the others as skipped."""
    for name in names:
        try:
            X, y = read_clean(data_folder(chosen), name)
        except MissingData as error:
            skip(name, error)
        else:
            yield name, X, y


@cache
def _tables(settings: Settings) -> list[Table]:
    return [table.first_rows(settings.rows) for table in real_or_synthetic(settings.folder)]
