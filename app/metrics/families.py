"""Metrics in the form of the Prometheus library, from the counts of all API processes and the figures of jobs."""

import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import version

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from app.jobs.figures import FigureName
from app.jobs.records import QueueFigures
from app.telemetry.count_folder import Totals
from app.telemetry.counts import CellKey
from app.telemetry.instruments import INSTRUMENTS, LATENCIES, MAX_MODELS, OTHER, PREDICTED_ROWS, Instrument, Kind

_BOUNDS = [*(f"{bound:g}" for bound in LATENCIES), "+Inf"]

Cells = Mapping[tuple[str, ...], Mapping[str, float]]


def api_families(totals: Totals) -> Iterator[Metric]:
    """Yield the metrics that API processes count."""
    by_metric: dict[str, dict[tuple[str, ...], dict[str, float]]] = {}
    for key, value in _with_bounded_models(totals).items():
        by_metric.setdefault(key.metric, {}).setdefault(key.labels, {})[key.part] = value
    for instrument in INSTRUMENTS:
        yield _family(instrument, by_metric.get(instrument.name, {}))


def _with_bounded_models(totals: Totals) -> Totals:
    """Return the totals with at most `MAX_MODELS` names of models: each process counts as many of its own."""
    names = [key.labels[0] for key in totals if key.metric == PREDICTED_ROWS.name]
    bounded = Totals()
    shown = set(names[:MAX_MODELS])
    for key, value in totals.items():
        if key.metric == PREDICTED_ROWS.name and key.labels[0] not in shown:
            key = CellKey(key.metric, (OTHER,))
        bounded[key] = bounded.get(key, 0.0) + value
    return bounded


def _family(instrument: Instrument, cells: Cells) -> Metric:
    name, labels = instrument.name, instrument.labels
    if instrument.kind is Kind.HISTOGRAM:
        histogram = HistogramMetricFamily(name, instrument.help, labels=labels)
        for values, parts in sorted(cells.items()):
            histogram.add_metric(values, list(_buckets(parts)), parts.get("sum", 0.0))
        return histogram
    family_type = CounterMetricFamily if instrument.kind is Kind.COUNTER else GaugeMetricFamily
    family: CounterMetricFamily | GaugeMetricFamily = family_type(name, instrument.help, labels=labels)
    for values, parts in sorted(cells.items() or ([] if labels else [((), {"": 0.0})])):
        family.add_metric(values, parts[""])
    return family


def _buckets(parts: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    below = 0.0
    for number, bound in enumerate(_BOUNDS):
        below += parts.get(str(number), 0.0)
        yield bound, below


def job_families(queue: QueueFigures) -> Iterator[Metric]:
    """Yield the metrics that the database has about jobs."""
    unfinished = GaugeMetricFamily("bristlecone_jobs", "Jobs that have not ended, by state.", labels=("kind", "state"))
    for (kind, state), n_jobs in sorted(queue.unfinished.items()):
        unfinished.add_metric((kind, state), n_jobs)
    yield unfinished
    age = queue.oldest_queued_seconds or 0.0
    yield GaugeMetricFamily(
        "bristlecone_oldest_queued_job_seconds", "Time for which the oldest queued job has been waiting.", value=age
    )
    for name, (metric, text, label) in _FIGURES.items():
        family = CounterMetricFamily(metric, text, labels=("kind", label))
        for figure, amount in sorted(queue.figures.items()):
            if figure.name is name:
                family.add_metric((figure.kind, figure.label), amount)
        yield family


_FIGURES = {
    FigureName.ENDED: ("bristlecone_jobs_ended", "Jobs that have ended, by their last state.", "state"),
    FigureName.ATTEMPTS: (
        "bristlecone_job_attempts",
        "Attempts to run a job that were started, and those whose worker was lost.",
        "outcome",
    ),
    FigureName.SECONDS: (
        "bristlecone_job_seconds",
        "Time of workers by phase, of attempts that have reported their outcome.",
        "phase",
    ),
}


def build_info() -> Metric:
    """Return the constant metric that carries the versions as labels."""
    labels = {"version": version("bristlecone"), "python": platform.python_version()}
    family = GaugeMetricFamily("bristlecone_build_info", "Versions, as labels of the value 1.", labels=list(labels))
    family.add_metric(list(labels.values()), 1)
    return family


def gauge(name: str, text: str, value: float) -> Metric:
    """Return a metric with one value."""
    return GaugeMetricFamily(name, text, value=value)
