"""Client of the routes of trained models, and versions of one name."""

import pytest

from tests.app.trained_models.made import client_of, make_trained_model
from tests.app.trained_models.registered import like, register


@pytest.fixture
def client(context):
    with client_of(context) as client:
        yield client


@pytest.fixture
def versions(context):
    """Return three versions of `credit-risk`, oldest first."""
    first = make_trained_model(context)
    return [first, register(context, like(first, seed=1)), register(context, like(first, seed=2))]
