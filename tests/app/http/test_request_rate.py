"""Limit on requests in a minute, per key and per address."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.access.scopes import Scope
from app.access.service import create_key
from app.http.client_times import MAX_CLIENTS, SharedTimes, shared_times
from app.http.errors import RateLimitExceeded
from app.http.request_rate import RequestRate, client_network
from app.main import create_app
from app.settings import ServerSettings, Settings


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def _accepted(rate: RequestRate, client: str, n: int) -> int:
    """Return how many of n requests are accepted."""
    accepted = 0
    for _ in range(n):
        try:
            rate.count(client)
        except RateLimitExceeded:
            continue
        accepted += 1
    return accepted


class TestRate:
    def test_allows_as_many_at_once_as_in_a_minute(self) -> None:
        assert _accepted(RequestRate(60, Clock()), "a", 100) == 60

    def test_allows_the_next_one_after_the_wait_that_it_names(self) -> None:
        clock = Clock()
        rate = RequestRate(6, clock)
        assert _accepted(rate, "a", 10) == 6
        with pytest.raises(RateLimitExceeded) as refused:
            rate.count("a")
        clock.now += refused.value.retry_after_seconds - 0.01
        assert _accepted(rate, "a", 2) == 0
        clock.now += 0.01
        assert _accepted(rate, "a", 2) == 1
        clock.now += 3600
        assert _accepted(rate, "a", 10) == 6

    def test_counts_clients_apart_and_remembers_few(self) -> None:
        rate = RequestRate(1, Clock())
        assert sum(_accepted(rate, str(number), 2) for number in range(MAX_CLIENTS + 5)) == MAX_CLIENTS + 5
        assert len(rate._even_times) == MAX_CLIENTS
        assert _accepted(rate, str(MAX_CLIENTS), 1) == 0

    def test_is_one_for_processes_that_share_a_file(self, tmp_path: Path) -> None:
        path, clock = tmp_path / "run" / "request-rate", Clock()
        first, second = (RequestRate(60, clock, lambda: shared_times(path)) for _ in range(2))
        assert _accepted(first, "a", 40) == 40
        assert _accepted(second, "a", 40) == 20
        assert _accepted(second, "b", 1) == 1
        # A machine that was started again has a clock that began at 0.
        clock.now = 1.0
        assert _accepted(first, "a", 100) == 60

    def test_a_full_table_forgets_the_earliest_client(self, tmp_path: Path) -> None:
        times = SharedTimes(tmp_path / "rate")
        clients = range(160_000)
        for number in clients:
            times.set(number, 1.0 + number)
        known = [number for number in clients if times.get(number) == 1.0 + number]
        assert 100_000 < len(known) <= 16_384 * 8
        assert set(clients[-10_000:]) - set(known) == set()

    def test_counts_by_itself_without_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        rate = RequestRate(60, Clock(), lambda: shared_times(tmp_path / "file" / "rate"))
        assert _accepted(rate, "a", 100) == 60

    def test_of_zero_allows_everything(self) -> None:
        assert _accepted(RequestRate(0, Clock()), "a", 1000) == 1000


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
        ("a:b", "a:b"),
    ],
)
def test_addresses_of_one_network_are_one_client(address: str, client: str) -> None:
    assert client_network(address) == client


@pytest.fixture
def limited(settings: Settings):
    app = create_app(settings.model_copy(update={"server": ServerSettings(requests_per_minute=3)}))
    with TestClient(app, base_url="http://localhost") as client:
        yield client


def test_an_address_gets_429_that_names_the_limit(limited: TestClient) -> None:
    for _ in range(5):
        assert limited.get("/healthz").status_code == 200
    statuses = [limited.get("/jobs").status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    refused = limited.get("/nowhere")
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limit_exceeded")
    assert "BRISTLECONE_REQUESTS_PER_MINUTE" in refused.json()["detail"]
    assert 1 <= int(refused.headers["Retry-After"]) <= 20
    assert limited.get("/healthz").status_code == 200


def test_each_key_counts_for_itself(limited: TestClient) -> None:
    keys = [create_key(limited.app.state.context.sessions, "tests", [Scope.READ], None).secret for _ in range(2)]
    for secret in keys:
        headers = {"Authorization": f"Bearer {secret}"}
        assert [limited.get("/jobs", headers=headers).status_code for _ in range(4)] == [200, 200, 200, 429]
    # Without a valid key, the address counts.
    wrong = {"Authorization": "Bearer bck_wrong"}
    assert [limited.get("/jobs", headers=wrong).status_code for _ in range(4)] == [401, 401, 401, 429]
