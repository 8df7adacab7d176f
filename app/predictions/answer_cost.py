"""Size of an answer with predictions, which is known before anything is predicted, and the memory that it takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.predictions.errors import AnswerTooLarge, TooManyCells
from app.predictions.predicted_rows import BYTES_PER_PIECE, BYTES_PER_PROBABILITY, as_json
from app.settings import BYTES_PER_ANSWER_CELL, Limits

#: Size up to which an answer is sent at once, with its length.
SMALL_ANSWER_BYTES = BYTES_PER_PIECE

#: Cells up to which the memory of a small answer is bounded by the number of threads alone.
_SMALL_CELLS = 50_000
#: A piece as objects, as text, as bytes, and as bytes that wait for the network.
_COPIES_OF_A_PIECE = 4
#: Names, braces and commas of `{"label":…,"probabilities":{…}},`.
_BYTES_PER_ROW = 32


def bytes_per_row(labels: Sequence[Any], label_texts: Sequence[str]) -> int:
    """Return a bound on the JSON text of one prediction, which names the label of every class."""
    keys = sum(_json_bytes(text) + BYTES_PER_PROBABILITY for text in label_texts)
    return _BYTES_PER_ROW + max(map(_json_bytes, labels)) + keys


def _json_bytes(value: Any) -> int:
    return len(as_json(value).encode())


@dataclass(frozen=True)
class AnswerCost:
    """Cells of a request, its features and class probabilities, and a bound on the bytes of its answer."""

    n_cells: int
    n_bytes: int

    @property
    def memory_bytes(self) -> int:
        """Memory that the request takes until its answer was sent; 0 if it is small."""
        if self.n_bytes <= SMALL_ANSWER_BYTES and self.n_cells <= _SMALL_CELLS:
            return 0
        return BYTES_PER_ANSWER_CELL * self.n_cells + _COPIES_OF_A_PIECE * min(self.n_bytes, BYTES_PER_PIECE)


def check(cost: AnswerCost, n_rows: int, shape: str, limits: Limits) -> None:
    """Refuse an answer that exceeds a limit. shape: the features and classes of the model, in words.

    Raises:
        TooManyCells, AnswerTooLarge.
    """
    if cost.n_cells > limits.max_answer_cells:
        raise TooManyCells(
            f"{n_rows} rows with {shape} are {cost.n_cells} cells, which exceed the limit of "
            f"{limits.max_answer_cells} (BRISTLECONE_MAX_ANSWER_CELLS); "
            f"{_way_out(limits.max_answer_cells * n_rows // cost.n_cells)}"
        )
    if cost.n_bytes > limits.max_decoded_bytes:
        raise AnswerTooLarge(
            f"{n_rows} rows with {shape}, whose labels are repeated in every row, make an answer of up to "
            f"{cost.n_bytes} bytes, which exceeds the limit of {limits.max_decoded_bytes} "
            f"(BRISTLECONE_MAX_DECODED_BYTES); {_way_out(limits.max_decoded_bytes * n_rows // cost.n_bytes)}"
        )


def _way_out(most_rows: int) -> str:
    if most_rows == 0:
        return "raise the limit."
    return f"send at most {most_rows} rows per request, or raise the limit."
