"""Options of the commands that upload a file."""

import argparse
from typing import Any

#: Fields of an upload that are one text: metavariable and explanation.
_TEXTS = {
    "weight": ("COLUMN", "column with the weights of the rows"),
    "group": ("COLUMN", "column whose equal values are rows that belong together"),
    "encoding": ("NAME", "encoding of a text file that is not UTF-8, such as cp1252"),
    "delimiter": ("CHARACTER", "delimiter of a CSV file, if it is not recognized"),
    "decimal": ("CHARACTER", "decimal mark of the numbers, if it is not recognized"),
    "thousands": ("CHARACTER", "mark between groups of three digits, if it is not recognized"),
    "dates": ("FORM", "strptime form of dates, such as %%d/%%m/%%Y, if it is not recognized"),
}
#: Fields that are lists of texts.
_LISTS = {
    "exclude": ("COLUMN", "column to leave out"),
    "nulls": ("TEXT", "text that means a missing value, in place of the usual ones"),
}


def add_upload_options(parser: argparse.ArgumentParser) -> None:
    """Add an option for each field of an upload that a command line can give."""
    for name, (metavar, explanation) in _LISTS.items():
        parser.add_argument(f"--{name}", action="append", metavar=metavar, help=f"{explanation}; repeatable")
    for name, (metavar, explanation) in _TEXTS.items():
        parser.add_argument(f"--{name}", metavar=metavar, help=explanation)
    kinds = "kind of a column: numeric, categorical, datetime or ignored; repeatable"
    parser.add_argument("--types", action="append", type=_column_and_kind, metavar="COLUMN=KIND", help=kinds)


def _column_and_kind(text: str) -> tuple[str, str]:
    """Return both sides of the last equals sign, because names of columns may have one too."""
    column, equals, kind = text.rpartition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} must be COLUMN=KIND, such as zip=categorical")
    return column, kind


def upload_fields(options: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of the upload that the command line gives, by name."""
    values = {name: getattr(options, name) for name in (*_LISTS, *_TEXTS)}
    values["types"] = dict(options.types) if options.types else None
    return {name: value for name, value in values.items() if value is not None}
