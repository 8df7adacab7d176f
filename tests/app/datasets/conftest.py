"""A service with the /datasets routes alone, on both databases."""

from collections.abc import Callable, Iterator

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from app import error_handlers
from app.context import ServiceContext
from app.datasets import endpoints
from app.settings import Limits


@pytest.fixture
def limited_client(context: ServiceContext) -> Callable[[Limits], TestClient]:
    """A client of a service with other limits than usual."""

    def make(limits: Limits) -> TestClient:
        settings = context.settings.model_copy(update={"limits": limits})
        app = FastAPI()
        app.state.context = ServiceContext(
            settings, context.engine, context.sessions, context.dataset_store, context.artifact_store
        )
        error_handlers.install(app)
        app.include_router(endpoints.router(limits))
        return TestClient(app, raise_server_exceptions=False)

    return make


@pytest.fixture
def client(context: ServiceContext, limited_client: Callable[[Limits], TestClient]) -> Iterator[TestClient]:
    with limited_client(context.settings.limits) as client:
        yield client
