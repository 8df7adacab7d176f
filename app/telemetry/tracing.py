"""Traces of requests and jobs for OpenTelemetry, if its packages are installed and the environment names a collector.

Nothing of OpenTelemetry is imported otherwise, and a span costs one comparison. Spans never have query strings, bodies,
values of features, labels, or text of clients except ids.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from typing import NamedTuple, Protocol

log = logging.getLogger(__name__)

Attributes = Mapping[str, str | int | float | bool]


class Timing(NamedTuple):
    """Begin and end, in nanoseconds since 1970."""

    began: int
    ended: int


class Span(Protocol):
    """Running span, or nothing."""

    def set(self, attributes: Attributes) -> None: ...

    def fail(self, description: str) -> None: ...


class Tracer(Protocol):
    """Maker of spans of this process."""

    def span(
        self, name: str, attributes: Attributes, parent: str | None, kind: str
    ) -> AbstractContextManager[Span]: ...

    def record(self, name: str, timing: Timing) -> None: ...

    def traceparent(self) -> str | None: ...

    def shutdown(self) -> None: ...


class _NoSpan:
    def set(self, attributes: Attributes) -> None:
        pass

    def fail(self, description: str) -> None:
        pass


NO_SPAN = _NoSpan()

_tracer: Tracer | None = None


def start(wants_traces: bool) -> None:
    """Begin to send traces. Call this after a fork, never before: the sender is a thread.

    wants_traces: whether the environment names a collector.
    """
    global _tracer
    if not wants_traces or _tracer is not None:
        return
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        log.warning("the environment asks for traces, but OpenTelemetry is missing; pip install 'bristlecone[otel]'")
        return
    # Imported here, because it takes half a second and few services use it.
    from app.telemetry.opentelemetry_tracer import OpenTelemetryTracer  # noqa: PLC0415

    _tracer = OpenTelemetryTracer()


def stop() -> None:
    """Send what is left, and stop."""
    global _tracer
    if _tracer is not None:
        tracer, _tracer = _tracer, None
        tracer.shutdown()


def is_on() -> bool:
    return _tracer is not None


def traceparent() -> str | None:
    """Return the place of the running span in its trace (W3C `traceparent`), None without a span."""
    return None if _tracer is None else _tracer.traceparent()


@contextmanager
def span(name: str, attributes: Attributes, parent: str | None = None, kind: str = "internal") -> Iterator[Span]:
    """Record the block as a span. parent: a `traceparent`; None for the running span. kind: as in OpenTelemetry."""
    if _tracer is None:
        yield NO_SPAN
        return
    with _tracer.span(name, attributes, parent, kind) as running:
        yield running


def record(name: str, timing: Timing) -> None:
    """Record a span that has ended already, below the running one."""
    if _tracer is not None:
        _tracer.record(name, timing)
