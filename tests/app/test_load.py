"""Many simultaneous requests: more than threads, and many more than database connections."""

import asyncio

import httpx2
from fastapi.testclient import TestClient

from tests.factories import make_job


def test_a_burst_of_reads_is_answered(client: TestClient) -> None:
    for _ in range(3):
        make_job(client.app.state.context)

    async def burst() -> list[int]:
        transport = httpx2.ASGITransport(app=client.app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as http:
            answers = await asyncio.gather(*(http.get("/jobs") for _ in range(300)))
            return [answer.status_code for answer in answers]

    assert set(asyncio.run(burst())) == {200}


def test_a_burst_of_writes_is_answered(client: TestClient) -> None:
    job_id = make_job(client.app.state.context)

    async def burst() -> list[int]:
        transport = httpx2.ASGITransport(app=client.app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as http:
            answers = await asyncio.gather(*(http.post(f"/jobs/{job_id}/cancel") for _ in range(150)))
            return [answer.status_code for answer in answers]

    assert set(asyncio.run(burst())) == {202}
