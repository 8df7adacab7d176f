"""Audited rows as CSV, generated batch by batch."""

import io
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from app.audits.records import UNLABELED, AuditedRows


def as_csv(batches: Iterable[AuditedRows], classes: list[Any]) -> Iterator[bytes]:
    """Yield a header and one line per row, with labels in the place of their indices."""
    labels, include_header = pa.array(classes), True
    for rows in batches:
        table = pa.table(
            {
                "row": rows.row,
                "given_label": labels.take(pa.array(rows.given, mask=rows.given == UNLABELED)),
                "suggested_label": labels.take(pa.array(rows.suggested)),
                "quality": pa.array(rows.quality, from_pandas=True),
                "is_issue": rows.is_issue,
            }
        )
        buffer = io.BytesIO()
        pa_csv.write_csv(table, buffer, pa_csv.WriteOptions(include_header=include_header))
        include_header = False
        yield buffer.getvalue()
