"""Rows of one request: received, read, and encoded for its model.

Small JSON is read here. All other bodies are read in a child process, because they can be hostile, and because reading
a large one would delay all other requests. Uploaded data sets are read there as well.
"""

import hashlib
import uuid
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fastapi import Request

from app.datasets.errors import DatasetNotFound, repoint
from app.datasets.receiving import in_own_thread
from app.datasets.records import DatasetRecord
from app.datasets.service import DatasetService
from app.datasets.store import DatasetStore
from app.errors import UnsupportedMediaType
from app.http.json_body import JsonBodies, is_json, media_type_of, validated
from app.http.json_parsing import parse_json_body
from app.http.memory_budget import MemoryBudget
from app.predictions.body import ReceivedBody, received, with_parameters
from app.predictions.encoded_rows import EncodedRows, RowsInFile, RowsInMemory
from app.predictions.errors import DuplicateName, Faults, TooManyCells
from app.predictions.forms import from_columns, from_rows
from app.predictions.inference_schemas import InferRequest
from app.predictions.remote_rows import RemoteRows, remote_rows
from app.predictions.row_readers import FORMATS, JSON
from app.predictions.schemas import PredictParameters, PredictRequest
from app.predictions.service import PredictionService, ServedModel
from app.predictions.specs import PredictSpec
from app.predictions.store import RowsStore
from app.predictions.submission import PredictionSubmission
from app.predictions.tensors import from_tensors
from app.requests.dataset_reference import DatasetReference
from app.settings import Limits, Settings
from app.storage.content_store import StagedFile
from app.storage.database import SessionFactory, reading
from app.storage.staging import staged_path
from app.trained_models.service import TrainedModelService


@dataclass(frozen=True)
class Batch:
    """Rows to predict with a model."""

    served: ServedModel
    parameters: PredictParameters
    rows: EncodedRows


class Intake:
    """Reader of the rows of one request.

    sending: ends when the answer was sent. disk: for the rows that wait to be predicted. readers: memory of the
    children that read rows.
    """

    def __init__(
        self,
        settings: Settings,
        sessions: SessionFactory,
        predictions: PredictionService,
        store: DatasetStore,
        sending: AsyncExitStack,
        disk: MemoryBudget,
        readers: MemoryBudget,
    ) -> None:
        self._settings, self._sessions, self._predictions, self._store = settings, sessions, predictions, store
        self._sending, self._disk, self._readers = sending, disk, readers

    @property
    def _limits(self) -> Limits:
        return self._settings.limits

    async def batch(self, request: Request) -> Batch:
        """Return the rows of a request.

        Raises:
            Invalid, UnsupportedMediaType, TooLarge, MemoryBusy, ModelNotFound, DatasetNotFound and others.
        """
        async with received(request, self._settings) as body:
            if body.path is None:
                small = await self._small(request, body)
                if isinstance(small, Batch):
                    return small
                return await self._in_child(lambda child, out: self._dataset(child, small, out))
            return await self._in_child(lambda child, out: self._table(child, body, request.query_params, out))

    async def submission(self, request: Request, store: RowsStore) -> PredictionSubmission:
        """Return the job that predicts the rows of a request later. Its rows are staged until the answer was sent.

        Raises the errors of `batch`.
        """
        async with received(request, self._settings) as body:
            with staged_path(self._settings.staging_folder, "rows", ".body") as small:
                if body.path is None:
                    small.write_bytes(body.content)
                    body = replace(body, path=small)

                def made() -> PredictionSubmission:
                    with remote_rows(self._limits) as child:
                        return self._submission(child, body, request.query_params, store)

                async with self._readers.taken(self._limits.max_decoded_bytes):
                    return await in_own_thread(made)

    def _submission(
        self, child: RemoteRows, body: ReceivedBody, query: Mapping[str, str], store: RowsStore
    ) -> PredictionSubmission:
        assert body.path is not None
        identity = {"body": _sha256(body.path), "media_type": body.media_type, "query": dict(query)}
        parameters, source = self._described(child, body, query)
        served = self._predictions.open(parameters.model)
        with reading(self._sessions) as session:
            model = TrainedModelService(session, self._predictions.store).get(uuid.UUID(served.id))
        common = {
            "model": parameters.model,
            "model_id": model.id,
            "output": parameters.output,
            **asdict(parameters.leniency),
        }
        n_columns = len(served.encoder.columns) + len(served.labels)
        if isinstance(parameters, PredictRequest) and parameters.dataset_id is not None:
            dataset = self._found(parameters.dataset_id)
            spec = PredictSpec(dataset_id=dataset.id, n_rows=dataset.n_rows, **common)
            return PredictionSubmission(spec, identity, dataset.id, None, model.size_bytes, n_columns, self._limits)
        rows, n_rows = self._stored(child, served, parameters, source, store)
        spec = PredictSpec(rows_sha256=rows.sha256, n_rows=n_rows, **common)
        return PredictionSubmission(spec, identity, model.dataset_id, rows, model.size_bytes, n_columns, self._limits)

    def _stored(
        self,
        child: RemoteRows,
        served: ServedModel,
        parameters: PredictParameters,
        source: Mapping[str, Any],
        store: RowsStore,
    ) -> tuple[StagedFile, int]:
        """Return the staged file of the rows, which is discarded when the answer was sent, and their number."""
        limit, encoded = self._limits.max_rows, list[RowsInFile]()

        def encode(out: Path) -> None:
            encoded.append(child.encode(source, served.encoder, parameters.leniency, out, limit))

        rows = store.stage(encode)
        self._sending.callback(rows.discard)
        if encoded[0].n_rows > limit:
            raise TooManyCells(f"there are more than {limit} rows (BRISTLECONE_MAX_ROWS); send at most so many.")
        return rows, encoded[0].n_rows

    def _described(
        self, child: RemoteRows, body: ReceivedBody, query: Mapping[str, str]
    ) -> tuple[PredictParameters, dict[str, Any]]:
        """Return the parameters of a request whose body is in a file, and where its rows are."""
        assert body.path is not None
        if body.media_type == JSON:
            requested = PredictRequest.from_document(with_parameters(child.outline(body.path), query))
            return requested, {"kind": "document"}
        parameters = validated(PredictParameters, dict(query), within="query")
        file = {"path": str(body.path), "format": FORMATS[body.media_type], "encoding": body.encoding}
        return parameters, {"kind": "file", **file}

    async def tensors(self, request: Request, reference: str) -> tuple[InferRequest, Batch]:
        """Return an inference request and its rows, for the model with this reference. Raises the errors of `batch`."""
        if "inference-header-content-length" in request.headers or not is_json(media_type_of(request)):
            detail = "send tensors as JSON with Content-Type: application/json; binary tensor data is not supported"
            raise UnsupportedMediaType.at("header/Content-Type", detail)
        found: list[InferRequest] = []

        def small(content: bytes) -> Batch:
            requested = InferRequest.from_document(parse_json_body(content))
            found.append(requested)
            served = self._predictions.open(reference)
            table = from_tensors(requested.inputs, served.encoder.known)
            served.cost(table.n_rows, self._limits)
            X = served.encoder.matrix(table, requested.leniency, Faults())
            return Batch(served, PredictParameters(model=reference), RowsInMemory(X))

        def large(child: RemoteRows, out: Path) -> Batch:
            assert body.path is not None
            requested = InferRequest.from_document(child.outline(body.path))
            found.append(requested)
            parameters = PredictParameters(model=reference, **asdict(requested.leniency))
            return self._encoded(child, parameters, {"kind": "document"}, out)

        async with received(request, self._settings) as body:
            if body.path is not None:
                batch = await self._in_child(large)
            else:
                bodies: JsonBodies = request.app.state.json_bodies
                async with bodies.read_small(body.content, body.cost, small) as batch:
                    pass
        return found[0], batch

    async def _small(self, request: Request, body: ReceivedBody) -> Batch | PredictRequest:
        """Return the rows of small JSON, or what it says if its rows are a data set."""
        bodies: JsonBodies = request.app.state.json_bodies

        def read(content: bytes) -> Batch | PredictRequest:
            document = parse_json_body(content, DuplicateName)
            requested = PredictRequest.from_document(with_parameters(document, request.query_params))
            if requested.dataset_id is not None:
                return requested
            served = self._predictions.open(requested.model)
            served.cost(requested.n_rows, self._limits)
            encoder, faults = served.encoder, Faults()
            if requested.columns is not None:
                table = from_columns(requested.columns, encoder.known, faults)
            else:
                table = from_rows(requested.rows or [], encoder.names, faults)
            return Batch(served, requested, RowsInMemory(encoder.matrix(table, requested.leniency, faults)))

        async with bodies.read_small(body.content, body.cost, read) as small:
            return small

    async def _in_child(self, encode: Callable[[RemoteRows, Path], Batch]) -> Batch:
        """Return what `encode` makes with a child and the path of a new file, which stays until the answer was sent."""
        out = self._sending.enter_context(staged_path(self._settings.staging_folder, "rows", ".encoded"))

        def encoded() -> Batch:
            with remote_rows(self._limits) as child:
                return encode(child, out)

        async with self._readers.taken(self._limits.max_decoded_bytes):
            batch = await in_own_thread(encoded)
        assert isinstance(batch.rows, RowsInFile)
        await self._sending.enter_async_context(self._disk.taken(batch.rows.n_bytes))
        return batch

    def _table(self, child: RemoteRows, body: ReceivedBody, query: Mapping[str, str], out: Path) -> Batch:
        parameters, source = self._described(child, body, query)
        if isinstance(parameters, PredictRequest) and parameters.dataset_id is not None:
            return self._dataset(child, parameters, out)
        return self._encoded(child, parameters, source, out)

    def _dataset(self, child: RemoteRows, requested: PredictRequest, out: Path) -> Batch:
        assert requested.dataset_id is not None
        dataset = self._found(requested.dataset_id)
        source = {"kind": "dataset", "path": str(self._store.path(dataset.fingerprint)), "features": dataset.features}
        return self._encoded(child, requested, source, out)

    def _found(self, reference: DatasetReference) -> DatasetRecord:
        try:
            with reading(self._sessions) as session:
                return DatasetService(session, self._store).get(reference)
        except DatasetNotFound as error:
            repoint(error, lambda _: "/dataset_id")
            raise

    def _encoded(self, child: RemoteRows, parameters: PredictParameters, source: Mapping[str, Any], out: Path) -> Batch:
        served = self._predictions.open(parameters.model)
        rows = child.encode(source, served.encoder, parameters.leniency, out, _most_rows(served, self._limits))
        served.cost(rows.n_rows, self._limits)
        return Batch(served, parameters, rows)


def _most_rows(served: ServedModel, limits: Limits) -> int:
    """Return the number of rows beyond which `served.cost` refuses an answer."""
    n_cells = len(served.encoder.columns) + len(served.labels)
    return min(limits.max_answer_cells // n_cells, limits.max_decoded_bytes // served.bytes_per_row)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
