"""Rows of POST /predict for a job: read and checked now, and staged until the job is queued."""

import hashlib
import uuid
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool

from app.predictions.batch_reader import check_percents
from app.predictions.body import ReceivedBody
from app.predictions.encoded_rows import RowsInFile
from app.predictions.errors import TooManyCells
from app.predictions.remote_rows import RemoteRows
from app.predictions.row_children import RowChildren
from app.predictions.row_sources import DescribedRows, RowSources
from app.predictions.service import PredictionService, ServedModel
from app.predictions.specs import PredictSpec
from app.predictions.store import RowsStore
from app.predictions.submission import PredictionSubmission
from app.settings import Settings
from app.storage.content_store import StagedFile
from app.storage.database import SessionFactory, reading
from app.storage.staging import staged_path
from app.trained_models.records import TrainedModelRecord
from app.trained_models.service import TrainedModelService


class JobIntake:
    """Reader of the rows of one request. sending: ends when the answer was sent; then staged rows are discarded."""

    def __init__(
        self,
        settings: Settings,
        sessions: SessionFactory,
        predictions: PredictionService,
        sources: RowSources,
        children: RowChildren,
        store: RowsStore,
        sending: AsyncExitStack,
    ) -> None:
        self._settings, self._sessions = settings, sessions
        self._predictions, self._sources, self._children = predictions, sources, children
        self._store, self._sending = store, sending

    async def submission(
        self, body: ReceivedBody, query: Mapping[str, str], identity: Mapping[str, Any]
    ) -> PredictionSubmission:
        """Return the job that predicts the rows of a request. identity: what `identity_of` returns for it.

        Raises:
            Invalid, TooLarge, MemoryBusy, ModelNotFound, DatasetNotFound and others.
        """
        with staged_path(self._settings.staging_folder, "rows", ".body") as small:
            if body.path is None:
                small.write_bytes(body.content)
                body = replace(body, path=small)
            return await self._children.run(lambda child: self._submission(child, body, query, identity))

    def _submission(
        self, child: RemoteRows, body: ReceivedBody, query: Mapping[str, str], identity: Mapping[str, Any]
    ) -> PredictionSubmission:
        described = self._sources.of_body(child, body, query)
        served = self._predictions.open(described.parameters.model)
        spec, rows = self._spec(child, described, served)
        model = self._model(served)
        about = model.dataset_id if described.dataset is None else described.dataset.id
        n_columns = len(served.encoder.columns) + len(served.labels)
        return PredictionSubmission(spec, identity, about, rows, model.size_bytes, n_columns, self._settings.limits)

    def _spec(
        self, child: RemoteRows, described: DescribedRows, served: ServedModel
    ) -> tuple[PredictSpec, StagedFile | None]:
        """Return the request as a worker reads it, and the staged file of its rows, None for a data set."""
        parameters, dataset = described.parameters, described.dataset
        common = {
            "model": parameters.model,
            "model_id": uuid.UUID(served.id),
            "output": parameters.output,
            **asdict(parameters.leniency),
        }
        if dataset is not None:
            check_percents(served, dataset)
            self._check_first_rows(child, described, served)
            return PredictSpec(dataset_id=dataset.id, n_rows=dataset.n_rows, **common), None
        rows, n_rows = self._staged(child, described, served)
        return PredictSpec(rows_sha256=rows.sha256, n_rows=n_rows, **common), rows

    def _check_first_rows(self, child: RemoteRows, described: DescribedRows, served: ServedModel) -> None:
        """Raise what the job would fail with because of the columns of a data set, or of its first rows."""
        with staged_path(self._settings.staging_folder, "rows", ".encoded") as out:
            child.encode(described.source, served.encoder, described.parameters.leniency, out, max_rows=0)

    def _staged(self, child: RemoteRows, described: DescribedRows, served: ServedModel) -> tuple[StagedFile, int]:
        """Return the staged file of the rows, which is discarded when the answer was sent, and their number."""
        limit, encoded = self._settings.limits.max_rows, list[RowsInFile]()

        def encode(out: Path) -> None:
            leniency = described.parameters.leniency
            encoded.append(child.encode(described.source, served.encoder, leniency, out, limit))

        rows = self._store.stage(encode)
        self._sending.callback(rows.discard)
        if encoded[0].n_rows > limit:
            raise TooManyCells(f"there are more than {limit} rows (BRISTLECONE_MAX_ROWS); send at most so many.")
        return rows, encoded[0].n_rows

    def _model(self, served: ServedModel) -> TrainedModelRecord:
        with reading(self._sessions) as session:
            return TrainedModelService(session, self._predictions.store).get(uuid.UUID(served.id))


async def identity_of(body: ReceivedBody, query: Mapping[str, str]) -> dict[str, Any]:
    """Return what the idempotency key of a request stands for.

    The body is not parsed. So a repeated request is answered at once, even if its model or data set has been deleted.
    """
    sha256 = await run_in_threadpool(_sha256, body)
    return {"body": sha256, "media_type": body.media_type, "encoding": body.encoding, "query": dict(query)}


def _sha256(body: ReceivedBody) -> str:
    if body.path is None:
        return hashlib.sha256(body.content).hexdigest()
    with body.path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
