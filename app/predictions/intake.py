"""Rows of POST /predict that are predicted at once.

Small JSON is read here. All other bodies are read in a child process, because they can be hostile, and because reading
a large one would delay all other requests. Uploaded data sets are read there as well.
"""

from collections.abc import Mapping

from fastapi import Request

from app.http.json_body import JsonBodies
from app.http.json_parsing import parse_json_body
from app.predictions.batch import Batch
from app.predictions.batch_reader import BatchReader
from app.predictions.body import received, with_parameters
from app.predictions.encoded_rows import RowsInMemory
from app.predictions.errors import DuplicateName, Faults
from app.predictions.forms import IN_ROWS, Table, from_columns, from_rows
from app.predictions.row_sources import RowSources
from app.predictions.schemas import PredictRequest
from app.predictions.service import PredictionService, ServedModel
from app.settings import Settings


class Intake:
    """Reader of the body of one request."""

    def __init__(
        self, settings: Settings, predictions: PredictionService, sources: RowSources, reader: BatchReader
    ) -> None:
        self._settings = settings
        self._predictions, self._sources, self._reader = predictions, sources, reader

    async def batch(self, request: Request) -> Batch:
        """Return the rows of a request.

        Raises:
            Invalid, UnsupportedMediaType, TooLarge, MemoryBusy, ModelNotFound, DatasetNotFound and others.
        """
        query = request.query_params
        async with received(request, self._settings) as body:
            if body.path is not None:
                return await self._reader.batch(lambda child: self._sources.of_body(child, body, query))
            bodies: JsonBodies = request.app.state.json_bodies
            async with bodies.read_small(body.content, body.cost, lambda text: self._small(text, query)) as small:
                if isinstance(small, Batch):
                    return small
            return await self._reader.batch(lambda _: self._sources.of_dataset(small))

    def _small(self, content: bytes, query: Mapping[str, str]) -> Batch | PredictRequest:
        """Return the rows of small JSON, or what it says if its rows are a data set."""
        document = parse_json_body(content, DuplicateName)
        requested = PredictRequest.from_document(with_parameters(document, query))
        if requested.dataset_id is not None:
            return requested
        served = self._predictions.open(requested.model)
        served.cost(requested.n_rows, self._settings.limits)
        faults = Faults()
        table = _table(requested, served, faults, () if isinstance(document, list) else IN_ROWS)
        return Batch(served, requested, RowsInMemory(served.encoder.matrix(table, requested.leniency, faults)))


def _table(requested: PredictRequest, served: ServedModel, faults: Faults, within: tuple[str, ...]) -> Table:
    """Return the rows of a request. within: path to the list of rows in the body."""
    if requested.columns is not None:
        return from_columns(requested.columns, served.encoder.known, faults)
    return from_rows(requested.rows or [], served.encoder.names, faults, within=within)
