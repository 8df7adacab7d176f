"""Answers are compressed when the client asks, and mean the same."""

import asyncio
import gzip

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app.http.compression import CompressAnswers, accepts_gzip

BODY = "word " * 1000


def tagged(_request):
    return PlainTextResponse(BODY, headers={"ETag": '"abc"'})


def small(_request):
    return JSONResponse({"a": 1})


def binary(_request):
    return Response(BODY.encode(), media_type="application/octet-stream", headers={"ETag": '"abc"'})


def compressed_already(_request):
    return Response(gzip.compress(BODY.encode()), media_type="text/plain", headers={"Content-Encoding": "gzip"})


async def events(_request):
    async def stream():
        for number in range(3):
            yield f"data: {number} {BODY}\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream")


def unchanged(_request):
    return Response(status_code=304, headers={"ETag": '"abc"'})


ROUTES = [tagged, small, binary, compressed_already, events, unchanged]


@pytest.fixture
def client():
    app = Starlette(routes=[Route(f"/{route.__name__}", route) for route in ROUTES])
    app.add_middleware(CompressAnswers)
    return TestClient(app)


def get(client, path, accepted="gzip"):
    return client.get(path, headers={"Accept-Encoding": accepted})


def test_a_large_text_is_compressed_and_its_tag_is_weak(client):
    answer = get(client, "/tagged", "br, gzip;q=0.5")
    assert answer.text == BODY
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < len(BODY) / 10
    assert answer.headers["etag"] == 'W/"abc"'
    assert answer.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize("accepted", ["", "identity", "gzip;q=0", "br"])
def test_without_being_asked_the_answer_is_plain(client, accepted):
    answer = get(client, "/tagged", accepted)
    assert "content-encoding" not in answer.headers
    assert answer.headers["etag"] == '"abc"'
    assert answer.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize("path", ["/small", "/binary", "/events"])
def test_not_compressed(client, path):
    answer = get(client, path)
    assert answer.status_code == 200
    assert "content-encoding" not in answer.headers
    assert answer.headers.get("etag") in (None, '"abc"')


def test_compressed_bodies_are_left_alone(client):
    assert get(client, "/compressed_already").text == BODY


def test_an_answer_without_a_body(client):
    answer = get(client, "/unchanged")
    assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", '"abc"')


def test_events_are_sent_one_by_one(client):
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        await asyncio.sleep(30)

    scope = {
        "type": "http", "method": "GET", "path": "/events", "query_string": b"", "root_path": "", "scheme": "http",
        "http_version": "1.1", "server": ("test", 80), "client": ("test", 1),
        "headers": [(b"accept-encoding", b"gzip")],
    }  # fmt: skip
    asyncio.run(client.app(scope, receive, send))
    bodies = [message["body"] for message in sent if message.get("body")]
    assert [body.split()[1] for body in bodies] == [b"0", b"1", b"2"]


@pytest.mark.parametrize(
    ("header", "accepted"),
    [("gzip", True), ("GZIP; q=1.0", True), ("deflate, x-gzip", True), ("gzip;q=0.0", False), ("notgzip", False)],
)
def test_accept_encoding(header, accepted):
    assert accepts_gzip(header) is accepted
