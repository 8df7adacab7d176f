"""Predictions of many rows, made while they are sent, so that none of them takes much memory."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from app.predictions.predicted_rows import PredictedRows
from core.service_api import winning_classes


@dataclass(frozen=True)
class PredictedTable:
    """Predictions of one model.

    model: id, name and version. parts: the rows, some at a time. with_probabilities: whether the answer has them.
    """

    model: Mapping[str, Any]
    labels: Sequence[bool | int | float | str]
    label_texts: Sequence[str]
    with_probabilities: bool
    parts: Iterator[PredictedRows]

    @property
    def schema(self) -> pa.Schema:
        """Columns of tabular answers: `label`, then `p.CLASS` of each class."""
        texts = self.label_texts if self.with_probabilities else ()
        return pa.schema([("label", self._labels.type), *((f"p.{text}", pa.float64()) for text in texts)])

    @property
    def _labels(self) -> pa.Array:
        try:
            return pa.array(self.labels)
        except (pa.ArrowException, OverflowError):  # Whole numbers beyond 64 bits.
            return pa.array(self.label_texts, pa.string())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a tabular answer."""
        schema, labels = self.schema, self._labels
        for part in self.parts:
            columns = [labels.take(pa.array(winning_classes(part.probabilities)))]
            if self.with_probabilities:
                columns += [pa.array(column) for column in part.probabilities.T]
            yield pa.record_batch(columns, schema=schema)
