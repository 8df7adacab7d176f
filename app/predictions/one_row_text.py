"""JSON text of a prediction of one row, of which all but the numbers is prepared."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.predictions.predicted_rows import as_json


class OneRowText:
    """Text that `PredictedRows.json_pieces_of_one` makes, for one model. The texts of its labels are distinct."""

    def __init__(self, model: Mapping[str, Any], labels: Sequence[Any], label_texts: Sequence[str]) -> None:
        beginning = f'{{"model":{as_json(model)},"label":'
        self._beginnings = [f'{beginning}{as_json(label)},"probabilities":{{' for label in labels]
        self._keys = [f"{as_json(text)}:" for text in label_texts]

    def of(self, probabilities: Sequence[float], winner: int) -> bytes:
        """Return the text for finite probabilities (class,), and the number of the predicted class."""
        entries = ",".join([key + repr(value) for key, value in zip(self._keys, probabilities, strict=True)])
        return f"{self._beginnings[winner]}{entries}}}}}".encode()
