"""Data sets for training requests."""

import pytest
from fastapi.testclient import TestClient

from tests.factories import make_dataset


@pytest.fixture
def dataset_id(client: TestClient) -> str:
    return str(make_dataset(client.app.state.context))


@pytest.fixture
def three(client: TestClient) -> str:
    """Id of a data set with the classes a, b and c."""
    return str(make_dataset(client.app.state.context, classes=[{"label": label, "count": 30} for label in "abc"]))
