"""Spans of OpenTelemetry, sent to the collector that its standard environment variables name."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from app.telemetry.tracing import Attributes, Span, Timing

_PROPAGATOR = TraceContextTextMapPropagator()
_KINDS = {kind.name.lower(): kind for kind in SpanKind}
_SHUTDOWN_SECONDS = 3.0


class _RunningSpan:
    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def set(self, attributes: Attributes) -> None:
        self._span.set_attributes(attributes)

    def fail(self, description: str) -> None:
        self._span.set_status(Status(StatusCode.ERROR, description))


class OpenTelemetryTracer:
    """Tracer of this process, which sends finished spans from a thread of its own."""

    def __init__(self) -> None:
        own = Resource({SERVICE_NAME: "bristlecone", SERVICE_VERSION: version("bristlecone")})
        # What OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say comes last, and so counts.
        self._provider = TracerProvider(resource=own.merge(OTELResourceDetector().detect()))
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("bristlecone", version("bristlecone"))

    @contextmanager
    def span(self, name: str, attributes: Attributes, parent: str | None, kind: str) -> Iterator[Span]:
        # An exception is not recorded: its message can contain values of the data.
        context = None if parent is None else _PROPAGATOR.extract({"traceparent": parent})
        with self._tracer.start_as_current_span(
            name, context, _KINDS[kind], attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            yield _RunningSpan(span)

    def traceparent(self) -> str | None:
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier)
        return carrier.get("traceparent")

    def record(self, name: str, timing: Timing) -> None:
        self._tracer.start_span(name, start_time=timing.began).end(timing.ended)

    def shutdown(self) -> None:
        """Send what is left, for a few seconds at most: the collector may be away."""
        ending = threading.Thread(target=self._provider.shutdown, name="last traces", daemon=True)
        ending.start()
        ending.join(_SHUTDOWN_SECONDS)
