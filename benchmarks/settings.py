"""What one run of the suite was asked for."""

import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.data import Table, real_or_made


class Settings(NamedTuple):
    folder: Path  # of Parquet files
    repeats: int
    trees: int
    jobs: int
    rows: int | None  # training rows of each table; None = all

    def tables(self) -> list[Table]:
        """Covertype and MNIST, or what stands in for them, with clean labels."""
        return _tables(self)


class Absent(Exception):
    """`core` does not offer what a row measures."""


def skip(work: str, why: object) -> None:
    """Say that a row is left out; the table on standard output stays whole."""
    print(f"skipped: {work} ({why})", file=sys.stderr, flush=True)


@cache
def _tables(settings: Settings) -> list[Table]:
    return [table.first_rows(settings.rows) for table in real_or_made(settings.folder)]
