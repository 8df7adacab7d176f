"""Memory that loaded models are counted with."""

import numpy as np

from app.context import ServiceContext
from app.predictions.held_memory import held_bytes
from app.predictions.service import PredictionService
from tests.app.trained_models.made import make_trained_model


def test_shared_parts_count_once() -> None:
    array = np.zeros(100_000)
    bare = held_bytes(array)
    assert 800_000 <= bare < 801_000
    assert held_bytes([array[:5], array[7:], memoryview(array), {"again": array}]) < bare + 2_000
    assert held_bytes(b"x" * 10_000, str, held_bytes, np) < 10_100


def test_a_loaded_model_counts_its_file_and_what_predictions_need(context: ServiceContext) -> None:
    row = make_trained_model(context)
    models = context.served_models
    served = PredictionService(context.sessions, context.artifact_store, models, context.instruments).open(row.name)
    counted = context.instruments.model_cache.bytes.value
    assert counted > 1.2 * row.size_bytes
    assert counted >= held_bytes(served)
