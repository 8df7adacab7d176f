"""GET /predict for a model that is in memory and small, and a query that is plain and without fault.

All other requests are left to the route, which has the same rules: among them those whose model must be looked up or
loaded, those that set parameters beside the model, and those that are refused.
"""

import numpy as np
from starlette.types import Scope

from app.errors import ServiceError
from app.http.direct_answers import Header, ReadyAnswer
from app.http.entity_tags import names_tag
from app.http.raw_headers import header
from app.predictions.dependencies import PredictionResources
from app.predictions.plain_query import plain_query
from app.predictions.service import ServedModel
from app.settings import Limits
from core.service_api import winning_classes

#: Time of the estimator for one row up to which no other request notices that the event loop waits for it.
MAX_ROW_SECONDS = 0.001
#: Features and classes up to which reading and writing them takes no longer than that.
MAX_CELLS = 500

_CACHE_CONTROL: Header = (b"cache-control", b"private, no-cache")
_CONTENT_TYPE: Header = (b"content-type", b"application/json")


def predict_directly(scope: Scope) -> ReadyAnswer | None:
    """Return the answer of GET /predict, or None if the route must answer."""
    query = plain_query(scope["query_string"])
    if query is None:
        return None
    context: PredictionResources = scope["app"].state.context
    served = context.served_models.warm(query["model"])
    if served is None or not _is_small(served, context.settings.limits):
        return None
    values = served.plain_rows.values(query)
    return None if values is None else _answer(served, values, header(scope, b"if-none-match"))


def _is_small(served: ServedModel, limits: Limits) -> bool:
    if served.row_seconds > MAX_ROW_SECONDS or not served.has_distinct_labels:
        return False
    try:
        cost = served.cost(1, limits)
    except ServiceError:
        return False
    return cost.n_cells <= MAX_CELLS and not cost.memory_bytes


def _answer(served: ServedModel, values: list[float], if_none_match: str | None) -> ReadyAnswer:
    X = np.array([values], dtype=np.float64)
    etag = served.etag(X)
    headers = [(b"etag", etag.encode()), _CACHE_CONTROL]
    if names_tag(if_none_match, etag):
        return ReadyAnswer(304, headers, b"")
    served.n_predicted.add()
    probabilities = served.predict_row(X)
    [winner], [row] = winning_classes(probabilities).tolist(), probabilities.tolist()
    body = served.one_row_text.of(row, winner)
    return ReadyAnswer(200, [*headers, (b"content-length", b"%d" % len(body)), _CONTENT_TYPE], body)
