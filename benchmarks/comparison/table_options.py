"""Options that choose the tables of the comparison."""

import argparse
from pathlib import Path

from benchmarks.comparison.collection import Collection
from benchmarks.comparison.keel_tables import KEEL
from benchmarks.comparison.tables import PARQUET
from benchmarks.data import MissingData

COLLECTIONS: dict[str, Collection] = {"parquet": PARQUET, "keel": KEEL}


def add_tables(parser: argparse.ArgumentParser) -> None:
    """Add the collection, its tables, its folder, and the maximum number of rows."""
    parser.add_argument("--collection", choices=COLLECTIONS, default="parquet", help="collection of tables")
    parser.add_argument("--tables", nargs="*", metavar="TABLE", help="default: all of the collection")
    parser.add_argument("--rows", type=int, default=6000, help="maximum number of rows of a table")
    parser.add_argument(
        "--data", type=Path, help="folder of the tables; default: BRISTLECONE_DATA or ../shared/data, or the package"
    )


def chosen_collection(arguments: argparse.Namespace) -> Collection:
    """Return the chosen collection."""
    return COLLECTIONS[arguments.collection]


def chosen_tables(arguments: argparse.Namespace) -> list[str]:
    """Return the names of the chosen tables, in the order of the collection; exit if it lacks one."""
    tables = chosen_collection(arguments).tables
    for name in arguments.tables or ():
        if name not in tables:
            raise SystemExit(f"{name} is not in the collection {arguments.collection}, which has {', '.join(tables)}.")
    return [name for name in tables if arguments.tables is None or name in arguments.tables]


def chosen_folder(arguments: argparse.Namespace) -> Path:
    """Return the folder of the chosen collection; exit if the package that contains it is not installed."""
    try:
        return chosen_collection(arguments).folder(arguments.data)
    except MissingData as error:
        raise SystemExit(str(error)) from None
