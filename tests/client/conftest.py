"""A running service for all tests of the client, and small tables."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from bristlecone import Client
from tests.service_process import RunningService


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("client") / "home") as service:
        yield service


@pytest.fixture
def client(service: RunningService) -> Iterator[Client]:
    with Client(service.url) as client:
        yield client


@pytest.fixture
def columns() -> dict[str, list[Any]]:
    """A table with numbers, texts, dates and missing values, in which every tenth label is wrong."""
    random = np.random.default_rng(0)
    amount = random.normal(size=300)
    repaid = [("yes" if (value > 0) != (row % 10 == 0) else "no") for row, value in enumerate(amount)]
    return {
        "amount": [None if row % 17 == 3 else float(value) for row, value in enumerate(amount)],
        "job": random.choice(["baker", "clerk"], 300).tolist(),
        "since": [f"20{year}-05-{day:02}" for year, day in random.integers([10, 1], [30, 29], (300, 2))],
        "repaid": repaid,
    }
