"""Predictions of rows, which are written as JSON in pieces, so that none of them takes much memory."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.service_api import winning_classes

#: Bound on one piece of an answer. No other thread runs while a piece is written.
BYTES_PER_PIECE = 256 * 1024
#: Quotation marks, a colon, a comma, and the longest number between 0 and 1, such as 2.2250738585072014e-308.
BYTES_PER_PROBABILITY = 28

#: The longest form of a character in JSON, such as `\\u0001`.
_BYTES_PER_CHARACTER = 6


@dataclass(frozen=True)
class PredictedRows:
    """Class probabilities of rows (row, class), with the labels of the classes and their texts.

    bytes_per_row: a bound on the JSON text of one row. with_probabilities: whether the text has them.
    """

    labels: Sequence[bool | int | float | str]
    label_texts: Sequence[str]
    bytes_per_row: int
    probabilities: NDArray[np.float64]
    with_probabilities: bool = True

    def json_pieces(self, model: Mapping[str, Any]) -> Iterator[bytes]:
        """Yield the JSON text of the answer of this model to many rows."""
        yield f'{{"model":{as_json(model)},"predictions":['.encode()
        for piece in self.json_entries():
            yield piece.encode()
        yield b"]}"

    def json_entries(self) -> Iterator[str]:
        """Yield the JSON texts of all rows, with commas between them."""
        rows_per_piece = BYTES_PER_PIECE // self.bytes_per_row
        return self._pieces_of_rows(rows_per_piece) if rows_per_piece else self._pieces_of_wide_rows()

    def json_pieces_of_one(self, model: Mapping[str, Any]) -> Iterator[bytes]:
        """Yield the JSON text of the answer of this model to one row."""
        yield f'{{"model":{as_json(model)},'.encode()
        pieces = self._pieces_of_wide_row(0)
        yield next(pieces)[1:].encode()
        for piece in pieces:
            yield piece.encode()

    def _pieces_of_rows(self, rows_per_piece: int) -> Iterator[str]:
        for start in range(0, len(self.probabilities), rows_per_piece):
            text = as_json(self._entries(start, start + rows_per_piece))[1:-1]
            yield f",{text}" if start else text

    def _entries(self, start: int, stop: int) -> list[dict[str, Any]]:
        """Return label and class probabilities of some rows; ties go to the first class."""
        probabilities = self.probabilities[start:stop]
        winners = winning_classes(probabilities).tolist()
        if not self.with_probabilities:
            return [{"label": self.labels[k]} for k in winners]
        return [
            {"label": self.labels[k], "probabilities": dict(zip(self.label_texts, row, strict=True))}
            for k, row in zip(winners, probabilities.tolist(), strict=True)
        ]

    def _pieces_of_wide_rows(self) -> Iterator[str]:
        for i in range(len(self.probabilities)):
            if i:
                yield ","
            yield from self._pieces_of_wide_row(i)

    def _pieces_of_wide_row(self, i: int) -> Iterator[str]:
        """Yield the text of one row, some classes at a time."""
        row = self.probabilities[i]
        [winner] = winning_classes(row[None]).tolist()
        if not self.with_probabilities:
            yield f'{{"label":{as_json(self.labels[winner])}}}'
            return
        yield f'{{"label":{as_json(self.labels[winner])},"probabilities":{{'
        step = self._classes_per_piece()
        for start in range(0, len(row), step):
            part = slice(start, start + step)
            text = as_json(dict(zip(self.label_texts[part], row[part].tolist(), strict=True)))[1:-1]
            yield f",{text}" if start else text
        yield "}}"

    def _classes_per_piece(self) -> int:
        longest = _BYTES_PER_CHARACTER * max(map(len, self.label_texts)) + BYTES_PER_PROBABILITY
        return max(1, BYTES_PER_PIECE // longest)


def as_json(value: Any) -> str:
    """Return the value as `JSONResponse` writes it."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
