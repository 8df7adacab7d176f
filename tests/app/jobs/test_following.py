"""GET /jobs/{id}/events and GET /jobs/{id}?wait=, on a real server: complete, resumable, ended, and bounded."""

import http.client
import json
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from app.context import ServiceContext
from app.jobs import events as event_streams
from app.jobs import lease, state_machine
from app.jobs.states import JobState
from app.settings import Settings
from app.storage.database import writing
from tests.factories import make_job
from tests.real_server import RealServer, real_server

#: Opened by the running test.
_CONNECTIONS: list[http.client.HTTPConnection] = []


@pytest.fixture
def server(settings: Settings, broker_url: str, context: ServiceContext) -> Iterator[RealServer]:
    broker = settings.broker.model_copy(update={"url": broker_url})
    with real_server(settings.model_copy(update={"broker": broker})) as server:
        yield server


@dataclass(frozen=True)
class Event:
    id: int
    kind: str
    data: dict[str, Any]


@dataclass
class Stream:
    """Answer of GET /jobs/{id}/events, read line by line as it arrives."""

    response: http.client.HTTPResponse
    n_comments: int = 0

    def __iter__(self) -> Iterator[Event]:
        fields: dict[str, str] = {}
        while line := self.response.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif value:
                self.n_comments += 1
            elif fields.get("id"):
                yield Event(int(fields["id"]), fields["event"], json.loads(fields["data"]))
                fields = {}


@pytest.fixture(autouse=True)
def closed_connections() -> Iterator[None]:
    yield
    while _CONNECTIONS:
        _CONNECTIONS.pop().close()


def follow(server: RealServer, job_id: uuid.UUID, last_event_id: int | None = None) -> Stream:
    headers = {} if last_event_id is None else {"Last-Event-ID": str(last_event_id)}
    return Stream(_request(server, "GET", f"/jobs/{job_id}/events", headers))


def claimed(context: ServiceContext, job_id: uuid.UUID) -> lease.Claim:
    with writing(context.sessions) as session:
        claim = lease.claim(session, job_id, 60)
    assert claim is not None
    return claim


def advance(context: ServiceContext, claim: lease.Claim, completed: int) -> None:
    progress = {"phase": "growing", "completed": completed, "total": 9, "unit": "trees", "fraction": completed / 9}
    with writing(context.sessions) as session:
        assert lease.renew(session, claim, 60, progress) is JobState.RUNNING


def succeed(context: ServiceContext, claim: lease.Claim) -> None:
    with writing(context.sessions) as session:
        assert state_machine.enter(session, claim.job_id, JobState.SUCCEEDED, fence=claim.attempt)


def finished(context: ServiceContext, n_steps: int = 2) -> uuid.UUID:
    claim = claimed(context, make_job(context))
    for completed in range(n_steps):
        advance(context, claim, completed)
    succeed(context, claim)
    return claim.job_id


def test_events_arrive_while_they_happen_and_end_with_the_job(server: RealServer, context: ServiceContext) -> None:
    job_id = make_job(context)
    stream = follow(server, job_id)
    assert stream.response.status == 200
    assert stream.response.headers["content-type"].startswith("text/event-stream")
    events = iter(stream)
    assert next(events).data == {"state": "queued", "attempt": 0}
    claim = claimed(context, job_id)
    assert next(events).data == {"state": "running", "attempt": 1}
    for completed in range(3):
        advance(context, claim, completed)
        event = next(events)
        assert (event.kind, event.data["completed"]) == ("progress", completed)
    succeed(context, claim)
    assert [(event.kind, event.data["state"]) for event in events] == [("state", "succeeded")]


def test_a_client_resumes_after_any_event_without_loss(server: RealServer, context: ServiceContext) -> None:
    job_id = finished(context)
    finished(context)  # events of another job have ids of the same sequence
    whole = list(follow(server, job_id))
    assert [event.kind for event in whole] == ["state", "state", "progress", "progress", "state"]
    for seen, event in enumerate(whole[:-1], start=1):
        assert list(follow(server, job_id, event.id)) == whole[seen:]
    assert follow(server, job_id, whole[-1].id).response.status == 204


def test_more_events_than_one_query_returns(
    server: RealServer, context: ServiceContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_streams, "_EVENTS_PER_QUERY", 3)
    assert len(list(follow(server, finished(context, n_steps=8)))) == 11


def test_silence_is_filled_with_comments(
    server: RealServer, context: ServiceContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_streams, "HEARTBEAT_SECONDS", 0.05)
    claim = claimed(context, make_job(context))
    stream = follow(server, claim.job_id)
    events = iter(stream)
    next(events), next(events)
    while stream.n_comments < 3:
        if not stream.response.readline().startswith(b":"):
            continue
        stream.n_comments += 1
    succeed(context, claim)
    assert next(events).data["state"] == "succeeded"


@pytest.mark.parametrize("path", ["events", "events?x=1"])
def test_unknown_jobs_and_parameters_are_refused(server: RealServer, path: str) -> None:
    answer = server.get(f"/jobs/{uuid.uuid4()}/{path}")
    assert answer.code == ("invalid_request" if "?" in path else "job_not_found")


def test_a_deleted_job_ends_its_streams(server: RealServer, context: ServiceContext) -> None:
    job_id = make_job(context)
    stream = follow(server, job_id)
    events = iter(stream)
    next(events)
    assert _request(server, "POST", f"/jobs/{job_id}/cancel").status == 202
    assert _request(server, "DELETE", f"/jobs/{job_id}").status == 204
    assert [event.data["state"] for event in events] in ([], ["cancelled"])


def test_waiting_ends_with_the_job_or_with_the_time(server: RealServer, context: ServiceContext) -> None:
    claim = claimed(context, make_job(context))
    began = time.monotonic()
    assert server.get(f"/jobs/{claim.job_id}?wait=0.3").json()["state"] == "running"
    assert time.monotonic() - began >= 0.3
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(server.get, f"/jobs/{claim.job_id}?wait=60")
        succeed(context, claim)
        assert answer.result().json()["state"] == "succeeded"


@pytest.mark.parametrize("wait", ["-1", "61", "nan", "soon"])
def test_waits_out_of_bounds_are_refused(server: RealServer, context: ServiceContext, wait: str) -> None:
    assert server.get(f"/jobs/{make_job(context)}?wait={wait}").code == "invalid_request"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_waiting_requests_hold_no_threads_and_are_bounded(
    settings: Settings, broker_url: str, context: ServiceContext
) -> None:
    broker = settings.broker.model_copy(update={"url": broker_url})
    settings = settings.model_copy(update={"broker": broker})
    with real_server(settings, max_connections=400) as server:
        job_id = make_job(context)
        streams = [follow(server, job_id) for _ in range(100)]
        for stream in streams:
            next(iter(stream))
        n_threads = threading.active_count()
        assert n_threads < 80
        assert server.get("/jobs").status == 200
        # Those too many are told to ask again; a long poll is answered at once.
        wait_for = time.monotonic() + 30
        while not server.app.state.event_streams.watch.is_full and time.monotonic() < wait_for:
            time.sleep(0.05)
        refused = server.get(f"/jobs/{job_id}/events")
        assert (refused.code, refused.headers["retry-after"]) == ("too_many_streams", "5")
        assert server.get(f"/jobs/{job_id}?wait=60").json()["state"] == "queued"
        assert _request(server, "POST", f"/jobs/{job_id}/cancel").status == 202
        assert [next(iter(stream)).data["state"] for stream in streams] == ["cancelled"] * 100


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_streams_end_when_the_server_stops(settings: Settings, broker_url: str, context: ServiceContext) -> None:
    broker = settings.broker.model_copy(update={"url": broker_url})
    with real_server(settings.model_copy(update={"broker": broker}), stop_seconds=30) as server:
        stream = follow(server, make_job(context))
        next(iter(stream))
    # A stream that was cut off would raise IncompleteRead.
    assert list(stream) == []


def _request(
    server: RealServer, method: str, path: str, headers: Mapping[str, str] | None = None
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    _CONNECTIONS.append(connection)
    connection.request(method, path, headers=headers or {})
    return connection.getresponse()
