"""Health routes answer quickly, whatever the threads, the database connections and the dependencies are doing."""

import asyncio
import gc
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi import APIRouter

from app.operations import shared_check
from app.operations.shared_check import SharedCheck
from app.settings import Settings
from app.storage.database import reading
from tests.real_server import RealServer, real_server
from tests.service_process import wait_until


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_requests_that_hold_all_threads_and_connections_do_not_delay_health(
    settings: Settings, broker_url: str
) -> None:
    broker = settings.broker.model_copy(update={"url": broker_url})
    with real_server(settings.model_copy(update={"broker": broker})) as server:
        release, started, numbers = threading.Event(), [], itertools.count()
        router = APIRouter()

        @router.get("/work")
        def work() -> None:
            with reading(server.app.state.context.sessions) as session:
                if next(numbers) < settings.database.pool_size:
                    session.connection()
                started.append(True)
                release.wait()

        server.app.include_router(router)
        with ThreadPoolExecutor(44) as pool:
            working = [pool.submit(server.get, "/work") for _ in range(44)]
            try:
                wait_until(lambda: len(started) == 40, 60, "all threads being busy")
                assert server.get("/healthz").status == 200
                assert server.get("/readyz").status == 200
            finally:
                release.set()
            assert {answer.result().status for answer in working} == {200}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_check_that_hangs_is_unavailable_and_holds_one_thread(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_check, "TIMEOUT_SECONDS", 2.0)
    release = threading.Event()
    with real_server(settings) as server:
        readiness = server.app.state.readiness
        readiness._checks["database"] = SharedCheck("hanging database", release.wait)
        try:
            with ThreadPoolExecutor(5) as pool:
                answers = list(pool.map(_ready, [server] * 5))
            assert {answer["database"] for answer in answers} == {"unavailable"}
            assert {answer["store"] for answer in answers} == {"ok"}
            assert [thread.name for thread in threading.enumerate()].count("hanging database") == 1
        finally:
            release.set()
        wait_until(lambda: _ready(server)["database"] == "ok", 60, "the database answering again")


def _ready(server: RealServer) -> dict[str, str]:
    answer = server.get("/readyz")
    assert answer.status == 503  # there is no broker
    return answer.json()["checks"]


def test_an_error_that_nobody_waits_for_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_check, "TIMEOUT_SECONDS", 0.05)
    release, reports = threading.Event(), []

    def fail() -> None:
        release.wait()
        raise RuntimeError("too late")

    async def ask() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reports.append(context))
        check = SharedCheck("failing", fail)
        with pytest.raises(TimeoutError):
            await check.run()
        release.set()
        monkeypatch.setattr(shared_check, "TIMEOUT_SECONDS", 60.0)
        while not check._running.done():
            await asyncio.sleep(0.01)
        with pytest.raises(RuntimeError, match="too late"):
            await check.run()

    asyncio.run(ask())
    gc.collect()
    assert reports == []
