"""Options that several benchmarks have."""

import argparse
from pathlib import Path

from benchmarks.cells import default_path


def program_parser(module: str, documentation: str | None) -> argparse.ArgumentParser:
    """Return the parser of a benchmark that is a command of its own. documentation: that of the module."""
    return argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=documentation,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add the folder of the data sets, which `benchmarks.data.data_folder` reads."""
    parser.add_argument(
        "--data", type=Path, help="folder of Parquet files; default: BRISTLECONE_DATA or ../shared/data"
    )


def add_jobs(parser: argparse.ArgumentParser, n_jobs: int = 2) -> None:
    """Add the number of threads."""
    parser.add_argument("--jobs", type=int, default=n_jobs, help="threads per fit")


def add_cells(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the file of the measured cells, by default that of the benchmark `name`, and the choice to print them."""
    parser.add_argument("--cells", type=Path, default=default_path(name), help="file of the measured cells")
    parser.add_argument("--print-only", action="store_true", help="print the measured cells; measure nothing")
