"""Service that only has the /datasets routes, on both databases."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import pytest
from fastapi import FastAPI
from starlette.routing import BaseRoute
from starlette.testclient import TestClient

from app.context import ServiceContext
from app.datasets import endpoints
from app.http import error_handlers, request_memory
from app.settings import Limits


def make_app(context: ServiceContext, limits: Limits) -> FastAPI:
    app = FastAPI(max_body_size=limits.max_body_bytes)
    app.router.routes[:] = _routes(limits)
    app.state.context = replace(context, settings=context.settings.model_copy(update={"limits": limits}))
    error_handlers.install(app)
    request_memory.install(app, app.state.context.settings)
    return app


@cache
def _routes(limits: Limits) -> list[BaseRoute]:
    """Return routes for applications to share; the first request analyzes them, which takes longer than most tests."""
    app = FastAPI(max_body_size=limits.max_body_bytes)
    app.include_router(endpoints.upload_router(limits))
    app.include_router(endpoints.router)
    return app.router.routes


@pytest.fixture
def limited_client(context: ServiceContext) -> Callable[[Limits], TestClient]:
    """Return a function that makes a client of a service with these limits."""
    return lambda limits: TestClient(make_app(context, limits))


@pytest.fixture
def client(context: ServiceContext) -> Iterator[TestClient]:
    with TestClient(make_app(context, context.settings.limits)) as client:
        yield client


@pytest.fixture
def leftovers(context: ServiceContext) -> Callable[[], list[str]]:
    """Return a function that lists the names of all files in the store and in staging."""

    def names() -> list[str]:
        folders = context.settings.datasets_folder, context.settings.staging_folder
        return [path.name for folder in folders for path in folder.iterdir()]

    return names
