"""Answers of models with long labels, which every row repeats: bounded, and sent in small pieces."""

import json
from collections.abc import Iterator

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.context import ServiceContext
from app.http.memory_budget import MemoryBudget
from app.predictions.answer_cost import SMALL_ANSWER_BYTES, AnswerCost, bytes_per_row
from app.predictions.predicted_rows import BYTES_PER_PIECE, PredictedRows
from app.requests.label_text import label_text
from tests.app.trained_models.made import client_of, make_trained_model

#: As JSON, a control character is six times as long.
LONG_LABELS = tuple(f"{i:03}" + ("\x01" if i == 7 else "x") * 1_000 for i in range(300))
#: Few, so that a small model has all of them.
STORED_LABELS = tuple(f"{i:03}" + "x" * 15_500 for i in range(20))
MODEL = {"id": "0", "name": "m", "version": 1}
ROW = {"age": 41, "job": None}


@pytest.fixture
def client(context: ServiceContext) -> Iterator[TestClient]:
    make_trained_model(context, name="long", labels=STORED_LABELS)
    make_trained_model(context, name="short")
    with client_of(context) as client:
        yield client


def predicted(labels, n_rows):
    texts = [label_text(label) for label in labels]
    probabilities = np.random.default_rng(0).dirichlet(np.ones(len(labels)), n_rows) / 3
    return PredictedRows(labels, texts, bytes_per_row(labels, texts), probabilities)


@pytest.mark.parametrize("labels", [("a", "b"), (True, False), (-1, 10**15, 2.5), ("é\n", "💡", '"' * 50), LONG_LABELS])
@pytest.mark.parametrize("n_rows", [1, 3, 5_000])
def test_the_bound_on_the_bytes_holds(labels, n_rows):
    n_rows = min(n_rows, 5) if labels is LONG_LABELS else n_rows
    rows = predicted(labels, n_rows)
    pieces = list(rows.json_pieces(MODEL))
    n_bytes = len(b"".join(pieces)) - len(b"".join(predicted(labels, 0).json_pieces(MODEL)))
    assert n_bytes <= n_rows * rows.bytes_per_row < 2 * n_bytes + 50 * n_rows
    assert max(map(len, pieces)) <= BYTES_PER_PIECE


@pytest.mark.parametrize("labels", [("a", "b"), LONG_LABELS])
def test_one_row_is_written_as_many_rows_are(labels):
    rows = predicted(labels, 1)
    pieces = list(rows.json_pieces_of_one(MODEL))
    [entry] = json.loads(b"".join(rows.json_pieces(MODEL)))["predictions"]
    assert json.loads(b"".join(pieces)) == {"model": MODEL, **entry}
    assert max(map(len, pieces)) <= BYTES_PER_PIECE


@pytest.mark.parametrize(
    ("cost", "is_free"),
    [
        (AnswerCost(50_000, SMALL_ANSWER_BYTES), True),
        (AnswerCost(50_001, 1_000), False),
        (AnswerCost(300, SMALL_ANSWER_BYTES + 1), False),
    ],
)
def test_memory_is_taken_by_cells_and_by_bytes(cost, is_free):
    assert (cost.memory_bytes == 0) is is_free
    assert is_free or cost.memory_bytes > min(cost.n_bytes, SMALL_ANSWER_BYTES)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
class TestRoutes:
    def test_few_cells_of_many_bytes_are_sent_in_pieces(self, client):
        answers = [
            client.post("/predict", json={"model": "long", "rows": [ROW] * 3}),
            client.get("/predict", params={"model": "long", "age": "41", "job": ""}),
        ]
        many, one = (answer.json() for answer in answers)
        assert all(answer.status_code == 200 and "content-length" not in answer.headers for answer in answers)
        assert answers[1].headers["etag"]
        assert many["predictions"] == [{name: one[name] for name in ("label", "probabilities")}] * 3
        assert tuple(one["probabilities"]) == STORED_LABELS

    def test_they_share_memory_and_small_ones_need_none(self, client):
        busy = client.app.state.answer_memory = MemoryBudget(1_000_000, wait_seconds=0.01)
        busy._free_bytes = 0
        refused = [
            client.post("/predict", json={"model": "long", "rows": [ROW]}),
            client.get("/predict", params={"model": "long", "age": "41", "job": ""}),
        ]
        assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [(503, "memory_busy")] * 2
        assert client.post("/predict", json={"model": "short", "rows": [ROW]}).status_code == 200
        assert client.get("/predict", params={"model": "short", "age": "41", "job": ""}).status_code == 200
        busy._free_bytes = busy.capacity_bytes
        assert client.post("/predict", json={"model": "long", "rows": [ROW]}).status_code == 200
        assert busy._free_bytes == busy.capacity_bytes

    def test_the_size_is_bounded_before_any_row_is_read(self, context, client):
        limits = context.settings.limits.model_copy(update={"max_decoded_bytes": 1_000_000})
        settings = context.settings.model_copy(update={"limits": limits})
        with client_of(type(context)(**{**vars(context), "settings": settings})) as limited:
            refused = limited.post("/predict", json={"model": "long", "rows": [{"nonsense": 0}] * 4})
            assert limited.post("/predict", json={"model": "long", "rows": [ROW] * 3}).status_code == 200
        assert (refused.status_code, refused.json()["code"]) == (413, "answer_too_large")
        assert "limit of 1000000 (BRISTLECONE_MAX_DECODED_BYTES)" in refused.json()["detail"]
        assert "at most 3 rows" in refused.json()["detail"]
