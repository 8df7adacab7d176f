"""Running services, started as users start them, on SQLite with an embedded Redis and on PostgreSQL."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

from tests.databases import fresh_database
from tests.distribution import SHARED_SERVICE
from tests.service_process import RunningService

#: Jobs of a killed worker return to the queue within seconds instead of the default twenty.
QUICK_LEASES = {
    "BRISTLECONE_LEASE_SECONDS": "4",
    "BRISTLECONE_RENEW_INTERVAL_SECONDS": "0.2",
    "BRISTLECONE_UPKEEP_INTERVAL_SECONDS": "0.3",
    "BRISTLECONE_RETRY_DELAY_SECONDS": "0.1",
}


@contextmanager
def service_on(
    database: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, **changes: str
) -> Iterator[RunningService]:
    """Start a service on SQLite or on a new PostgreSQL database; `changes` are further environment variables."""
    home = tmp_path_factory.mktemp(database) / "home"
    with ExitStack() as opened:
        if database == "postgresql":
            server = request.getfixturevalue("postgresql_url")
            changes["DATABASE_URL"] = opened.enter_context(fresh_database(server))
        yield opened.enter_context(RunningService(home, changes=QUICK_LEASES | changes))


@pytest.fixture(scope="session", params=["sqlite", "postgresql"], ids=lambda database: f"{SHARED_SERVICE}{database}")
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Yield a service that the tests of several files share; other tests start one with settings of their own."""
    with service_on(request.param, request, tmp_path_factory) as running:
        yield running


def on_one(database: str) -> pytest.MarkDecorator:
    """Return a mark for tests of jobs whose results are stored on both databases in tests/app and tests/workers."""
    return pytest.mark.parametrize("service", [database], indirect=True, ids=[f"{SHARED_SERVICE}{database}"])


@pytest.fixture(scope="session")
def table_csv() -> bytes:
    """Table of 3,000 rows with numbers, a category, missing values, and text labels that depend on all of them."""
    generator = np.random.default_rng(7)
    n_rows = 3000
    numbers = generator.normal(size=(n_rows, 6)).round(4)
    colours = generator.choice(["red", "green", "blue"], n_rows)
    score = numbers[:, 0] + numbers[:, 1] * (colours == "red") - 0.5 * (colours == "blue")
    labels = np.where(score > 0.4, "good", np.where(score > -0.4, "fair", "poor"))
    lines = ["x1,x2,x3,x4,x5,x6,colour,quality"]
    for row, colour, label, missing in zip(numbers, colours, labels, generator.random(n_rows) < 0.05, strict=True):
        cells = [f"{value}" for value in row]
        cells[2] = "" if missing else cells[2]
        lines.append(",".join([*cells, colour, label]))
    return "\n".join(lines).encode()
