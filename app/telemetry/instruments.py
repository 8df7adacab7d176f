"""Counts of API processes: requests, refusals, uploads, predicted rows and the cache of models.

No label is text of a client, except names of models, whose number is bounded.
"""

from bisect import bisect_left
from enum import StrEnum
from typing import NamedTuple

from app.telemetry.counts import Cell, CellKey, ProcessCounts

#: Label of a route for requests that reach none, or that are refused before their route is known.
NO_ROUTE = "none"
#: Label of methods that no route has, and of models beyond `MAX_MODELS`.
OTHER = "other"
#: Names of models that one process tells apart.
MAX_MODELS = 100
#: Upper bounds of the latencies of requests, in seconds.
LATENCIES = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Kind(StrEnum):
    """Type of a metric, as in Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Instrument(NamedTuple):
    """Metric of API processes. Names of counters are without the ending `_total`."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()


REQUESTS = Instrument(
    "bristlecone_http_request_seconds",
    Kind.HISTOGRAM,
    "Requests, and seconds from their head to the end of the answer. Streams of events last as long as they are read.",
    ("route", "method", "status"),
)
ERRORS = Instrument(
    "bristlecone_http_errors", Kind.COUNTER, "Requests that were answered with an error, by its code.", ("code",)
)
REFUSED_CONNECTIONS = Instrument(
    "bristlecone_refused_connections",
    Kind.COUNTER,
    "Connections that were closed before they had sent the head of a request, by the code of the error.",
    ("code",),
)
UPLOADS = Instrument(
    "bristlecone_uploads",
    Kind.COUNTER,
    "Uploaded tables: created as a data set, known already, or refused.",
    ("outcome",),
)
UPLOADED_BYTES = Instrument(
    "bristlecone_uploaded_bytes", Kind.COUNTER, "Bytes of uploaded tables that were stored, after decompression."
)
PREDICTED_ROWS = Instrument(
    "bristlecone_predicted_rows",
    Kind.COUNTER,
    "Rows that API processes have predicted, by the name of the model.",
    ("model",),
)
CACHE_BYTES = Instrument("bristlecone_model_cache_bytes", Kind.GAUGE, "Size of the models in memory for predictions.")
CACHE_LOOKUPS = Instrument(
    "bristlecone_model_cache_lookups", Kind.COUNTER, "Look-ups of models in memory: hit or miss.", ("outcome",)
)
CACHE_EVICTIONS = Instrument(
    "bristlecone_model_cache_evictions", Kind.COUNTER, "Models that were dropped from memory to make room."
)
PROCESSES = Instrument("bristlecone_api_processes", Kind.GAUGE, "API processes that run in this state folder.")

INSTRUMENTS = (
    REQUESTS, ERRORS, REFUSED_CONNECTIONS, UPLOADS, UPLOADED_BYTES, PREDICTED_ROWS, CACHE_BYTES, CACHE_LOOKUPS,
    CACHE_EVICTIONS, PROCESSES,
)  # fmt: skip
GAUGES = tuple(instrument.name for instrument in INSTRUMENTS if instrument.kind is Kind.GAUGE)


class _Latencies:
    """Histogram of the requests with one set of labels."""

    def __init__(self, counts: ProcessCounts, labels: tuple[str, ...]) -> None:
        self._sum = counts.cell(CellKey(REQUESTS.name, labels, "sum"))
        self._buckets = [counts.cell(CellKey(REQUESTS.name, labels, str(n))) for n in range(len(LATENCIES) + 1)]

    def observe(self, seconds: float) -> None:
        self._sum.add(seconds)
        self._buckets[bisect_left(LATENCIES, seconds)].add()


class CacheCounts:
    """Counts of a cache of models."""

    def __init__(self, counts: ProcessCounts) -> None:
        self.hits = counts.cell(CellKey(CACHE_LOOKUPS.name, ("hit",)))
        self.misses = counts.cell(CellKey(CACHE_LOOKUPS.name, ("miss",)))
        self.evictions = counts.cell(CellKey(CACHE_EVICTIONS.name))
        self.bytes = counts.cell(CellKey(CACHE_BYTES.name))


class Instruments:
    """Metrics that one process records. Recording needs no more than a few look-ups and additions."""

    def __init__(self, counts: ProcessCounts | None = None) -> None:
        """counts: None to keep them in memory only, as in processes that do not serve requests."""
        self.counts = counts or ProcessCounts()
        self.model_cache = CacheCounts(self.counts)
        self._requests: dict[tuple[str, str, int], _Latencies] = {}
        self._models: dict[str, Cell] = {}
        self.counts.cell(CellKey(PROCESSES.name)).add()

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request. route: template of its path. status: 0 if it was not answered."""
        latencies = self._requests.get((route, method, status // 100))
        if latencies is None:
            latencies = self._new_latencies(route, method, status // 100)
        latencies.observe(seconds)

    def _new_latencies(self, route: str, method: str, hundreds: int) -> _Latencies:
        label = method if method in _METHODS else OTHER
        latencies = _Latencies(self.counts, (route, label, f"{hundreds}xx" if hundreds else "none"))
        if label == method:
            self._requests[route, method, hundreds] = latencies
        return latencies

    def error(self, code: str) -> None:
        self.counts.cell(CellKey(ERRORS.name, (code,))).add()

    def refused_connection(self, code: str) -> None:
        self.counts.cell(CellKey(REFUSED_CONNECTIONS.name, (code,))).add()

    def upload(self, outcome: str, n_bytes: int = 0) -> None:
        """Count an upload. outcome: `created`, `known` or `refused`."""
        self.counts.cell(CellKey(UPLOADS.name, (outcome,))).add()
        if n_bytes:
            self.counts.cell(CellKey(UPLOADED_BYTES.name)).add(n_bytes)

    def predicted_rows(self, model: str) -> Cell:
        """Return the counter of the rows that the models of a name predict."""
        if model not in self._models:
            name = model if len(self._models) < MAX_MODELS else OTHER
            self._models[name] = self.counts.cell(CellKey(PREDICTED_ROWS.name, (name,)))
            return self._models[name]
        return self._models[model]

    def close(self) -> None:
        self.counts.close()
