"""Traces of a request and of the job that it queues, as a collector receives them."""

import gzip
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.settings import Settings
from app.telemetry import tracing
from tests.factories import job
from tests.job_attempts import attempt_job
from workers.job_body import StorableResult

trace_service = pytest.importorskip(
    "opentelemetry.proto.collector.trace.v1.trace_service_pb2",
    reason="OpenTelemetry is not installed; pip install 'bristlecone[otel]'",
)

SECRET = "Doe-Jane-1957"
CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Collector(HTTPServer):
    """Server that keeps the spans which it receives over OTLP."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list = []

    @property
    def spans(self) -> dict:
        """The spans by name; of several with the same name, the first one."""
        scopes = [scope for request in self.requests for one in request.resource_spans for scope in one.scope_spans]
        return {span.name: span for scope in reversed(scopes) for span in reversed(scope.spans)}

    @property
    def service(self) -> str:
        attributes = self.requests[0].resource_spans[0].resource.attributes
        (name,) = (one.value.string_value for one in attributes if one.key == "service.name")
        return name


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        assert self.path == "/v1/traces"
        self.server.requests.append(trace_service.ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "labels")
        yield server
        server.shutdown()
        thread.join()


def _attributes(span) -> dict[str, str]:
    return {one.key: one.value.string_value or str(one.value.int_value) for one in span.attributes}


def _work(context, claim, monitor) -> StorableResult:
    for phase in ("loading", "growing"):
        monitor.begin(phase, 1, "parts")
    raise ValueError(SECRET)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_request_and_its_job_are_one_trace(settings: Settings, broker_url: str, collector: Collector) -> None:
    broker = settings.broker.model_copy(update={"url": broker_url})
    app = create_app(settings.model_copy(update={"traces": True, "broker": broker}))
    table = {"columns": {"x": [*range(30)], "who": [SECRET, "other"] * 15, "y": [0, 1] * 15}, "target": "y"}
    with TestClient(app, base_url="http://localhost") as client:
        headers = {"X-Request-Id": "request-7", "traceparent": CALLER}
        queued = client.post("/train", json={"data": table, "model": {"kind": "tree"}, "name": "n"}, headers=headers)
        assert queued.status_code == 202, queued.text
        assert client.get(f"/predict?model=nobody&who={SECRET}").status_code == 404
        job_id = queued.json()["id"]
        attempt_job(app.state.context, uuid.UUID(job_id), _work)
        row = job(app.state.context, uuid.UUID(job_id))
        assert (row.request_id, row.error_code) == ("request-7", "internal_error")
    assert not tracing.is_on()

    spans, (_, trace_id, caller_id, _) = collector.spans, CALLER.split("-")
    request, submission, attempt = spans["POST"], spans["submit job"], spans["job train"]
    assert {request.trace_id.hex(), submission.trace_id.hex(), attempt.trace_id.hex()} == {trace_id}
    assert request.parent_span_id.hex() == caller_id
    assert submission.parent_span_id == request.span_id
    assert attempt.parent_span_id == submission.span_id
    assert [spans[name].parent_span_id for name in ("loading", "growing")] == [attempt.span_id] * 2
    assert _attributes(request) == {
        "http.request.method": "POST",
        "http.route": "/train",
        "http.response.status_code": "202",
        "bristlecone.request.id": "request-7",
    }
    assert _attributes(submission) == {"bristlecone.job.id": job_id, "bristlecone.job.kind": "train"}
    told = _attributes(attempt)
    assert (told["bristlecone.request.id"], told["error.type"]) == ("request-7", "internal_error")
    assert attempt.status.code == 2
    assert _attributes(spans["GET"])["error.type"] == "model_not_found"
    assert SECRET not in str(collector.requests)
    assert "nobody" not in str(collector.requests)
    assert collector.service == "labels"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_collector_that_is_away_does_no_harm(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    with TestClient(create_app(settings.model_copy(update={"traces": True})), base_url="http://localhost") as client:
        assert client.get("/jobs").status_code == 200


def test_nothing_is_imported_without_a_collector() -> None:
    # Other libraries import the interface of OpenTelemetry where it is installed, but never what sends traces.
    code = "import sys, app.main, workers.celery_app; print([name for name in sys.modules if 'otlp' in name])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert answer.stdout.strip() == "[]"
