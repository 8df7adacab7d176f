"""Connections of the real server: clients that are slow, silent, gone, many, or do not speak HTTP."""

import logging
import time

import pytest
from fastapi import APIRouter, Request

from app.http import refusal_log
from app.settings import Settings
from tests.real_server import is_closed, read_answer, real_server
from tests.service_process import wait_until

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

HEAD = b"Host: localhost\r\nContent-Type: application/json\r\n"
SHORT = {"header_seconds": 0.3, "body_idle_seconds": 0.3, "keep_alive_seconds": 0.3}


def _post(path: str, length: int, body: bytes = b"") -> bytes:
    return f"POST {path} HTTP/1.1\r\n".encode() + HEAD + f"Content-Length: {length}\r\n\r\n".encode() + body


class TestHeads:
    def test_half_a_head_ends_in_408(self, settings: Settings) -> None:
        with real_server(settings, **SHORT) as server:
            answer = server.exchange(b"GET /healthz HTTP/1.1\r\nHost: loc")
            assert (answer.status, answer.code) == (408, "request_timeout")

    def test_a_head_that_trickles_ends_too(self, settings: Settings) -> None:
        with real_server(settings, **SHORT) as server, server.connect() as connection:
            connection.settimeout(0.02)
            for _ in range(1000):
                connection.sendall(b"G")
                try:
                    received = connection.recv(100)
                    break
                except TimeoutError:
                    continue
            assert received.startswith(b"HTTP/1.1 408")

    def test_silence_ends_the_connection(self, settings: Settings) -> None:
        with real_server(settings, **SHORT) as server, server.connect() as connection:
            assert is_closed(connection)

    def test_silence_after_a_request_ends_the_connection(self, settings: Settings) -> None:
        with real_server(settings, keep_alive_seconds=0.3) as server, server.connect() as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert read_answer(connection).status == 200
            assert is_closed(connection)

    def test_half_a_second_head_ends_in_408(self, settings: Settings) -> None:
        with real_server(settings, header_seconds=2.0) as server, server.connect() as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert read_answer(connection).status == 200
            connection.sendall(b"GET /hea")
            assert read_answer(connection).code == "request_timeout"

    def test_a_request_line_of_almost_a_mebibyte_is_read(self, settings: Settings) -> None:
        with real_server(settings) as server:
            assert server.get(f"/predict?model=m&x={'y' * 1_000_000}").code == "model_not_found"

    def test_a_longer_one_is_refused(self, settings: Settings) -> None:
        with real_server(settings) as server:
            answer = server.get(f"/predict?model=m&x={'y' * 2_000_000}")
            assert (answer.status, answer.code) == (431, "head_too_large")

    @pytest.mark.parametrize(
        "request_bytes",
        [
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
            b"GET /jobs HTTP/1.1\r\n\r\n",
            b"GET /jobs HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            b"GET /jobs HTTP/1.1\r\nHost: localhost\r\nX-Bad: a\x00b\r\n\r\n",
            b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        ],
    )
    def test_what_is_not_http_is_a_problem(self, settings: Settings, request_bytes: bytes) -> None:
        with real_server(settings) as server:
            answer = server.exchange(request_bytes)
            assert (answer.status, answer.code) == (400, "bad_request")


class TestBodies:
    @pytest.mark.parametrize("path", ["/train", "/predict", "/datasets?target=y"])
    def test_a_pause_ends_in_408(self, settings: Settings, path: str) -> None:
        with real_server(settings, **SHORT) as server:
            request = _post(path, 1000, b'{"a": ')
            if path.startswith("/datasets"):
                request = request.replace(b"application/json", b"text/csv")
            answer = server.exchange(request)
            assert (answer.status, answer.code) == (408, "request_timeout")
            assert answer.headers["connection"] == "close"
            assert not list(settings.staging_folder.iterdir())

    def test_a_trickle_ends_in_408(self, settings: Settings) -> None:
        with real_server(settings, **SHORT) as server, server.connect() as connection:
            connection.sendall(_post("/train", 10**6))
            connection.settimeout(0.05)
            received = b""
            while not received:
                connection.sendall(b" ")
                try:
                    received = connection.recv(100)
                except TimeoutError:
                    continue
            assert received.startswith(b"HTTP/1.1 408")

    def test_the_time_of_the_service_does_not_count(self, settings: Settings) -> None:
        with real_server(settings, **{**SHORT, "header_seconds": 0.9}) as server:
            router = APIRouter()

            @router.post("/slow")
            async def slow(request: Request) -> int:
                time.sleep(1.0)
                return len(await request.body())

            server.app.include_router(router)
            assert server.exchange(_post("/slow", 4, b"1234")).status == 200

    def test_a_body_that_nobody_reads_ends_the_connection(self, settings: Settings) -> None:
        with real_server(settings, body_idle_seconds=0.3) as server, server.connect() as connection:
            connection.sendall(_post("/nowhere", 10**7))
            assert read_answer(connection).status == 404
            assert is_closed(connection)

    def test_chunks_that_are_none_do_not_disturb_the_server(
        self, settings: Settings, caplog: pytest.LogCaptureFixture
    ) -> None:
        with real_server(settings) as server:
            logging.getLogger().addHandler(caplog.handler)  # the application has removed it
            head = b"POST /train HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
            assert server.exchange(head + b"zz\r\n").code == "bad_request"
            assert server.get("/healthz").status == 200
        assert "refused a connection: bad_request" in caplog.text
        assert not [record for record in caplog.records if record.levelno > logging.WARNING]
        assert "Traceback" not in caplog.text

    def test_many_bad_requests_make_few_lines(
        self, settings: Settings, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(refusal_log, "PERIOD_SECONDS", 1.0)
        with real_server(settings) as server:
            logging.getLogger().addHandler(caplog.handler)  # the application has removed it
            for number in range(50):
                bad = b"GET\r\n\r\n" if number % 2 else b"\x00\r\n\r\n"
                assert server.exchange(bad).code == "bad_request"
            wait_until(lambda: "more connections" in caplog.text, 60, "the number of refused connections")
        lines = [record for record in caplog.records if record.name.startswith(("uvicorn", "app.http"))]
        assert 2 <= len(lines) < 25
        assert {record.levelno for record in lines} == {logging.INFO}


class TestClientsThatLeave:
    @pytest.mark.parametrize(
        ("path", "media_type"),
        [("/train", "application/json"), ("/predict", "application/json"), ("/datasets?target=y", "text/csv"),
         ("/datasets", "multipart/form-data; boundary=b")],
    )  # fmt: skip
    def test_make_one_line_in_the_log(
        self, settings: Settings, caplog: pytest.LogCaptureFixture, path: str, media_type: str
    ) -> None:
        with real_server(settings, stop_seconds=30) as server:
            logging.getLogger().addHandler(caplog.handler)  # the application has removed it
            with server.connect() as connection:
                connection.sendall(_post(path, 10**6, b"--b\r\n").replace(b"application/json", media_type.encode()))
            wait_until(lambda: "the client left" in caplog.text, 60, "a line in the log")
        lines = [record for record in caplog.records if record.name.startswith(("app.", "uvicorn.error"))]
        left = [record for record in lines if "the client left" in record.getMessage()]
        assert [record.levelname for record in left] == ["INFO"]
        assert not [record for record in lines if record.levelno > logging.INFO or record.exc_info]
        assert not list(settings.staging_folder.iterdir())

    def test_that_takes_nothing_of_its_answer_is_cut_off(self, settings: Settings) -> None:
        with real_server(settings, body_idle_seconds=0.3) as server:
            router = APIRouter()

            @router.get("/large")
            async def large(request: Request) -> str:
                return "x" * 50_000_000

            server.app.include_router(router)
            with server.connect() as connection:
                connection.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
                wait_until(lambda: server.connections, 60, "the connection being accepted")
                wait_until(lambda: not server.connections, 60, "the connection being cut off")
                assert read_answer(connection).status == 0


class TestManyConnections:
    def test_idle_ones_keep_nobody_out(self, settings: Settings) -> None:
        with real_server(settings, max_connections=10) as server:
            idle = [server.connect() for _ in range(40)]
            for connection in idle[::2]:
                connection.sendall(b"GET /")
            assert server.get("/jobs").status == 200
            assert server.get("/healthz").status == 200
            assert is_closed(idle[0])
            for connection in idle:
                connection.close()

    def test_busy_ones_are_refused_but_not_health(self, settings: Settings) -> None:
        with real_server(settings, max_connections=10) as server:
            busy = [server.connect() for _ in range(5)]
            for connection in busy:
                connection.sendall(_post("/train", 1000, b"{"))
            wait_until(lambda: server.get("/jobs").status == 503, 60, "all being busy")
            answer = server.get("/jobs")
            assert answer.code == "server_busy"
            assert int(answer.headers["retry-after"]) > 0
            assert server.get("/healthz").status == 200
            assert server.get("/readyz").status in (200, 503)
            for connection in busy:
                connection.close()
            wait_until(lambda: server.get("/jobs").status == 200, 60, "being free again")

    def test_answered_ones_with_unread_bodies_keep_nobody_out(self, settings: Settings) -> None:
        with real_server(settings, max_connections=10) as server:
            lingering = [server.connect() for _ in range(30)]
            for connection in lingering:
                connection.sendall(_post("/nowhere", 10**7))
            assert server.get("/healthz").status == 200
            wait_until(lambda: server.get("/jobs").status == 200, 60, "the last of them being answered")
            for connection in lingering:
                connection.close()
