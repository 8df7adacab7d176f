"""Columns whose numbers have percent signs in one table of text, and none in another: 12 may be 0.12 there, or 12."""

from collections.abc import Mapping

from app.datasets.column_types import ColumnKind
from app.datasets.formats import FileFormat
from app.datasets.records import DatasetRecord

#: Formats in which all numbers are text.
_FORMATS = (FileFormat.CSV, FileFormat.TSV)


def percent_mismatch(signs: Mapping[str, bool], dataset: DatasetRecord, from_text: bool = False) -> str | None:
    """Return why the numbers of a data set cannot be compared with those of a model, or None.

    signs: whether numbers have percent signs, by feature of the model. from_text: whether its numbers were text, too.
    """
    own_signs = percent_signs(dataset)
    for name, has_sign in signs.items():
        lacks_signs = has_sign and not own_signs.get(name, True) and is_from_text(dataset)
        if lacks_signs or (from_text and not has_sign and own_signs.get(name, False)):
            where = (
                "the training data, but not in this data set" if lacks_signs else "this data set, but not in training"
            )
            return (
                f"the numbers of {name!r:.100} have percent signs in {where}, so that 12 may mean 0.12 or 12; "
                "write the signs in both, or in neither"
            )
    return None


def percent_signs(dataset: DatasetRecord) -> dict[str, bool]:
    """Return whether numbers have percent signs, by feature that has numbers."""
    return {
        feature["name"]: (feature.get("reading") or {}).get("percent", False)
        for feature in dataset.features
        if feature.get("detected", feature["kind"]) == ColumnKind.NUMERIC and feature.get("missing", 0) < dataset.n_rows
    }


def is_from_text(dataset: DatasetRecord) -> bool:
    """Return whether the numbers of a data set were text in its file."""
    return dataset.reading.get("format") in _FORMATS
