"""Rows of one request, encoded for their model."""

from dataclasses import dataclass

from app.predictions.encoded_rows import EncodedRows
from app.predictions.schemas import PredictParameters
from app.predictions.service import ServedModel


@dataclass(frozen=True)
class Batch:
    """Rows to predict with a model."""

    served: ServedModel
    parameters: PredictParameters
    rows: EncodedRows
