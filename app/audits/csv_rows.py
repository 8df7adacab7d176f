"""Judged rows as CSV, a piece at a time."""

import io
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from app.audits.store import JudgedRows


def as_csv(batches: Iterable[JudgedRows], classes: list[Any]) -> Iterator[bytes]:
    """A header, then a line per row; labels stand for their indices."""
    labels, is_first = pa.array(classes), True
    for rows in batches:
        table = pa.table(
            {
                "row": rows.row,
                "given_label": labels.take(pa.array(rows.given)),
                "suggested_label": labels.take(pa.array(rows.suggested)),
                "quality": rows.quality,
                "is_issue": rows.is_issue,
            }
        )
        written = io.BytesIO()
        pa_csv.write_csv(table, written, pa_csv.WriteOptions(include_header=is_first))
        is_first = False
        yield written.getvalue()
