"""Trained models for tests: fitted by `core`, stored and registered as a worker does it."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from fastapi import FastAPI
from starlette.routing import BaseRoute
from starlette.testclient import TestClient

import core
from app.context import ServiceContext
from app.http import error_handlers, request_memory
from app.http.protocol_errors import ProtocolErrors
from app.predictions import batch_endpoints as batch_predictions
from app.predictions import endpoints as predictions
from app.predictions import inference_endpoints as inference
from app.storage.content_store import StagedFile
from app.storage.database import writing
from app.trained_models import endpoints as trained_models
from app.trained_models import pointer_endpoints
from app.trained_models.records import NewTrainedModel, TrainedModelRecord
from app.trained_models.service import TrainedModelService
from tests.factories import make_dataset
from tests.stored_files import put

FEATURES: list[dict[str, Any]] = [
    {"name": "age", "kind": "numeric", "categories": None, "is_boolean": False, "reading": None},
    {
        "name": "job",
        "kind": "categorical",
        "categories": ["skilled", "unskilled", "1", "true"],
        "is_boolean": False,
        "reading": None,
    },
]


def client_of(context: ServiceContext) -> TestClient:
    app = FastAPI()
    app.router.routes[:] = _routes()
    app.state.context = context
    error_handlers.install(app)
    request_memory.install(app, context.settings)
    app.add_middleware(ProtocolErrors)
    return TestClient(app, raise_server_exceptions=False)


@cache
def _routes() -> list[BaseRoute]:
    """Return routes for applications to share; the first request analyzes them, which takes longer than most tests."""
    app = FastAPI()
    app.include_router(pointer_endpoints.router)
    app.include_router(trained_models.router)
    app.include_router(predictions.router)
    app.include_router(batch_predictions.router)
    app.include_router(inference.router)
    return app.router.routes


def fitted(features: Sequence[dict[str, Any]], labels: Sequence[Any], seed: int = 0) -> core.ForestClassifier:
    """Return a small forest fitted on rows with missing values, whose labels depend on every feature."""
    random = np.random.default_rng(seed)
    width = [len(feature["categories"] or range(50)) for feature in features]
    X = np.column_stack([random.integers(0, n, 300) for n in width]).astype(float)
    y = np.array(labels)[(X.sum(axis=1) % len(labels)).astype(int)]
    X[random.random(X.shape) < 0.05] = np.nan
    return core.ForestClassifier(n_estimators=5, random_state=seed).fit(X, y)


def make_trained_model(
    context: ServiceContext,
    *,
    features: Sequence[dict[str, Any]] = FEATURES,
    labels: Sequence[Any] = ("bad", "good"),
    seed: int = 0,
    **changed: Any,
) -> TrainedModelRecord:
    estimator = fitted(features, labels, seed)
    schema = {"target": "y", "classes": estimator.classes_.tolist(), "features": list(features), "left_out": []}
    stored = put(context.artifact_store, lambda path: core.save(estimator, path, schema=schema))
    values = new_model(context, stored, schema, **{"seed": seed, **changed})
    with writing(context.sessions) as session:
        return TrainedModelService(session, context.artifact_store).register(NewTrainedModel(**values))


def new_model(context: ServiceContext, stored: StagedFile, schema: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """Return the values of a model whose file is stored."""
    values: dict[str, Any] = {
        "name": "credit-risk",
        "kind": "forest",
        "parameters": {"n_estimators": 5},
        "seed": 0,
        "data_sha256": "0" * 64,
        "code_version": "0.1.0",
        "fit_seconds": 0.5,
        "size_bytes": stored.size_bytes,
        "artifact_sha256": stored.sha256,
        "metrics": {"test": {"accuracy": 0.75}},
        "feature_schema": schema,
        "noise": {"injected": None, "correction": None},
        "fitted": {},
        "certificate": None,
        **changed,
    }
    values.setdefault("dataset_id", make_dataset(context))
    return values
