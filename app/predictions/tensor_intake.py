"""Rows of an inference request of the Open Inference Protocol: tensors, which JSON bodies have."""

from dataclasses import asdict
from pathlib import Path

from fastapi import Request

from app.errors import UnsupportedMediaType
from app.http.content_type import is_json, media_type_of
from app.http.json_body import JsonBodies
from app.http.json_parsing import parse_json_body
from app.predictions.batch import Batch
from app.predictions.batch_reader import BatchReader
from app.predictions.body import received
from app.predictions.encoded_rows import RowsInMemory
from app.predictions.errors import Faults
from app.predictions.inference_schemas import InferRequest
from app.predictions.remote_rows import RemoteRows
from app.predictions.row_sources import DescribedRows
from app.predictions.schemas import PredictParameters
from app.predictions.service import PredictionService
from app.predictions.tensors import from_tensors
from app.settings import Settings


class TensorIntake:
    """Reader of the tensors of one request. Small bodies are read here, others in a child process."""

    def __init__(self, settings: Settings, predictions: PredictionService, reader: BatchReader) -> None:
        self._settings, self._predictions, self._reader = settings, predictions, reader

    async def batch(self, request: Request, reference: str) -> tuple[InferRequest, Batch]:
        """Return an inference request and its rows, for the model with this reference.

        Raises:
            Invalid, UnsupportedMediaType, TooLarge, MemoryBusy, ModelNotFound and others.
        """
        if "inference-header-content-length" in request.headers or not is_json(media_type_of(request)):
            detail = "send tensors as JSON with Content-Type: application/json; binary tensor data is not supported"
            raise UnsupportedMediaType.at("header/Content-Type", detail)
        async with received(request, self._settings) as body:
            if body.path is not None:
                return await self._large(body.path, reference)
            bodies: JsonBodies = request.app.state.json_bodies
            async with bodies.read_small(body.content, body.cost, lambda text: self._small(text, reference)) as small:
                return small

    def _small(self, content: bytes, reference: str) -> tuple[InferRequest, Batch]:
        requested = InferRequest.from_document(parse_json_body(content))
        served = self._predictions.open(reference)
        table = from_tensors(requested.inputs, served.encoder.known)
        served.cost(table.n_rows, self._settings.limits)
        X = served.encoder.matrix(table, requested.leniency, Faults())
        return requested, Batch(served, PredictParameters(model=reference), RowsInMemory(X))

    async def _large(self, path: Path, reference: str) -> tuple[InferRequest, Batch]:
        found: list[InferRequest] = []

        def describe(child: RemoteRows) -> DescribedRows:
            requested = InferRequest.from_document(child.outline(path))
            found.append(requested)
            parameters = PredictParameters(model=reference, **asdict(requested.leniency))
            return DescribedRows(parameters, {"kind": "document"})

        batch = await self._reader.batch(describe)
        return found[0], batch
