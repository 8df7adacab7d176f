"""Query strings that name every feature of a model once and nothing else, as numbers."""

from collections.abc import Sequence
from urllib.parse import parse_qsl

from app.predictions.forms import query_key
from core import Column
from core.service_api import CellFault, text_encoder

_MODEL = "model"


def query_pairs(query: bytes) -> Sequence[Sequence[str]]:
    """Return names and values of a query string, as the framework reads them."""
    text = query.decode("latin-1")
    if "%" in text or "+" in text:
        return parse_qsl(text, keep_blank_values=True)
    return [part.partition("=")[::2] for part in text.split("&") if part]


def plain_query(query: bytes) -> dict[str, str] | None:
    """Return names and values of a query string, or None if a name occurs twice or no model is named."""
    pairs = query_pairs(query)
    values: dict[str, str] = dict(pairs)  # type: ignore[arg-type]
    return values if len(values) == len(pairs) and _MODEL in values else None


class PlainRows:
    """Reader of rows in which nothing is left out, unknown or wrong."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._cells = [(query_key(column.name), text_encoder(column)) for column in columns]

    def values(self, query: dict[str, str]) -> list[float] | None:
        """Return the numbers (feature,), NaN for missing values, or None if the query has a fault or a parameter."""
        if len(query) != len(self._cells) + 1:
            return None
        try:
            values = [encode(query[key]) for key, encode in self._cells]
        except KeyError:
            return None
        return None if _has_fault(values) else values  # type: ignore[return-value]


def _has_fault(values: Sequence[float | CellFault]) -> bool:
    return any(type(value) is CellFault for value in values)
