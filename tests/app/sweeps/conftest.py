"""Data set for sweep requests."""

import pytest
from fastapi.testclient import TestClient

from tests.factories import make_dataset


@pytest.fixture
def dataset_id(client: TestClient) -> str:
    """Id of a data set with the classes 0 and 1."""
    return str(make_dataset(client.app.state.context))
