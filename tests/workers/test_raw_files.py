"""From an uploaded file to predictions: a downloaded model reads the raw file as every form of request does."""

import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

import core
from app.context import ServiceContext
from app.datasets import endpoints as datasets
from app.http import error_handlers, request_memory
from app.predictions import batch_endpoints as batch_predictions
from app.predictions import endpoints as predictions
from tests.workers.training_runs import run

N_ROWS = 400
KINDS = {
    "id": "ignored", "amount": "numeric", "since": "datetime", "seen": "datetime", "member": "categorical",
    "zip": "categorical", "rate": "numeric", "job": "categorical",
}  # fmt: skip
ISO_SECONDS = "%Y-%m-%dT%H:%M:%S"


def raw_table() -> pd.DataFrame:
    """Return a table as people have it: text only, with another writing in each column."""
    random = np.random.default_rng(0)
    days = pd.Timestamp("2010-01-01") + pd.to_timedelta(random.integers(0, 5000, N_ROWS), unit="D")
    jobs = random.choice(["baker", "clerk", "pilot"], N_ROWS)
    amounts = np.round(random.lognormal(8, 2, N_ROWS), 2)
    frame = pd.DataFrame(
        {
            "id": [f"K-{i:05d}" for i in range(N_ROWS)],
            "amount": [f"{amount:,.2f}" for amount in amounts],
            "since": days.strftime("%d.%m.%Y"),
            "seen": (days + pd.to_timedelta(random.integers(0, 86_400, N_ROWS), unit="s")).strftime(
                "%Y-%m-%dT%H:%M:%S"
            ),
            "member": random.choice(["TRUE", "false"], N_ROWS),
            "zip": random.choice(["01234", "02345", "99999"], N_ROWS),
            "rate": [f"{share:.1f} %" for share in random.random(N_ROWS) * 100],
            "job": jobs,
        },
        dtype=object,
    )
    labels = np.where((amounts > 3000) ^ (jobs == "pilot"), "yes", "no")
    missing = random.random(frame.shape) < 0.03
    missing[:, 0] = False
    texts = random.choice(["", "NA", "?", "n/a"], frame.shape)
    return frame.mask(missing, pd.DataFrame(texts, columns=frame.columns)).assign(outcome=labels)


@pytest.fixture
def client(context: ServiceContext) -> TestClient:
    app = FastAPI(max_body_size=10**8)
    app.state.context = replace(context)
    error_handlers.install(app)
    request_memory.install(app, context.settings)
    app.include_router(datasets.upload_router(context.settings.limits))
    app.include_router(datasets.router)
    app.include_router(predictions.router)
    app.include_router(batch_predictions.router)
    return TestClient(app)


def trained(context: ServiceContext, client: TestClient, name: str, content: bytes) -> tuple[Any, Any]:
    """Upload a file, train a model on it, and return the model with its downloaded estimator."""
    uploaded = client.post("/datasets", data={"target": "outcome"}, files={"file": (name, content)}).json()
    assert {feature["name"]: feature["kind"] for feature in uploaded["features"]} == KINDS
    model = run(context, dataset_id=uploaded["id"], model={"kind": "forest", "n_estimators": 20})
    return model, core.load(context.artifact_store.path(model.artifact_sha256))


def probabilities(answer: Any) -> list[list[float]]:
    assert answer.status_code == 200, answer.text
    return [list(found["probabilities"].values()) for found in answer.json()["predictions"]]


def test_a_file_gives_the_same_numbers_as_frame_rows_columns_and_queries(
    context: ServiceContext, client: TestClient
) -> None:
    content = raw_table().to_csv(index=False)
    model, estimator = trained(context, client, "raw.csv", content.encode())

    text = pd.read_csv(io.StringIO(content), dtype=str, keep_default_na=False)
    expected = estimator.predict_proba(text).tolist()
    assert np.mean(estimator.predict(text) == text["outcome"]) > 0.9
    for frame in (pd.read_csv(io.StringIO(content)), pa.Table.from_pandas(text), converted(text)):
        assert estimator.predict_proba(frame).tolist() == expected

    rows = text.to_dict("records")
    assert probabilities(client.post("/predict", json={"model": str(model.id), "rows": rows})) == expected
    columns = {name: list(text[name]) for name in text.columns}
    assert probabilities(client.post("/predict", json={"model": str(model.id), "columns": columns})) == expected
    for row, proba in zip(rows[:20], expected, strict=False):
        answer = client.get("/predict", params={"model": str(model.id), **row})
        assert list(answer.json()["probabilities"].values()) == proba


def converted(text: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the types that its texts stand for, as a careful user would convert it."""
    return text.assign(
        amount=pd.to_numeric(text["amount"].str.replace(",", ""), errors="coerce"),
        since=pd.to_datetime(text["since"], format="%d.%m.%Y", errors="coerce"),
        seen=pd.to_datetime(text["seen"], format="ISO8601", errors="coerce"),
        member=text["member"].str.lower().map({"true": True, "false": False}).astype("boolean"),
        rate=pd.to_numeric(text["rate"].str.removesuffix(" %"), errors="coerce") / 100,
        job=text["job"].astype("category"),
    )


def test_a_file_with_types_gives_the_same_numbers_as_its_frame_and_as_json(
    context: ServiceContext, client: TestClient
) -> None:
    frame = converted(raw_table())
    content = io.BytesIO()
    frame.to_parquet(content, index=False)
    model, estimator = trained(context, client, "typed.parquet", content.getvalue())
    expected = estimator.predict_proba(frame).tolist()
    stored = pq.read_table(io.BytesIO(content.getvalue()))
    assert estimator.predict_proba(stored).tolist() == expected
    assert estimator.predict_proba(pl.from_arrow(stored)).tolist() == expected
    texts = frame.assign(since=frame["since"].dt.strftime("%Y-%m-%d"), seen=frame["seen"].dt.strftime(ISO_SECONDS))
    rows = json.loads(texts.to_json(orient="records", double_precision=15))
    assert probabilities(client.post("/predict", json={"model": str(model.id), "rows": rows})) == expected
