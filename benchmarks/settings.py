"""Settings of one run of the benchmark suite."""

import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.data import Table, real_or_synthetic


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


@cache
def _tables(settings: Settings) -> list[Table]:
    return [table.first_rows(settings.rows) for table in real_or_synthetic(settings.folder)]
