"""Errors of the route of metrics."""

from app.errors import Unavailable


class MetricsUnavailable(Unavailable):
    code, title = "metrics_unavailable", "Metrics unavailable"
    retry_after_seconds = 5
