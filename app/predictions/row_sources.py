"""Places of the rows of a request: its body, or an uploaded data set."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.datasets.errors import DatasetNotFound, repoint
from app.datasets.records import DatasetRecord
from app.datasets.service import DatasetService
from app.datasets.store import DatasetStore
from app.http.json_body import validated
from app.predictions.body import ReceivedBody, with_parameters
from app.predictions.media_types import FORMATS, JSON
from app.predictions.remote_rows import RemoteRows
from app.predictions.schemas import PredictParameters, PredictRequest
from app.storage.database import SessionFactory, reading


@dataclass(frozen=True)
class DescribedRows:
    """Rows that a child can encode.

    source: where they are, for `RemoteRows.encode`. dataset: the data set that has them, None if the body has them.
    """

    parameters: PredictParameters
    source: Mapping[str, Any]
    dataset: DatasetRecord | None = None


class RowSources:
    """Finds the rows of requests."""

    def __init__(self, sessions: SessionFactory, store: DatasetStore) -> None:
        self._sessions, self._store = sessions, store

    def of_body(self, child: RemoteRows, body: ReceivedBody, query: Mapping[str, str]) -> DescribedRows:
        """Return the rows of a request whose body is in a file. A document stays in the child.

        Raises:
            RequestValidationError, DatasetNotFound, and the errors of a document that cannot be parsed.
        """
        assert body.path is not None
        if body.media_type == JSON:
            requested = PredictRequest.from_document(with_parameters(child.outline(body.path), query))
            if requested.dataset_id is not None:
                return self.of_dataset(requested)
            return DescribedRows(requested, {"kind": "document"})
        parameters = validated(PredictParameters, dict(query), within="query")
        file = {"path": str(body.path), "format": FORMATS[body.media_type], "encoding": body.encoding}
        return DescribedRows(parameters, {"kind": "file", **file})

    def of_dataset(self, requested: PredictRequest) -> DescribedRows:
        """Return the rows of the uploaded data set that a request names. Raises DatasetNotFound, DatasetFileMissing."""
        assert requested.dataset_id is not None
        try:
            with reading(self._sessions) as session:
                dataset = DatasetService(session, self._store).get(requested.dataset_id)
        except DatasetNotFound as error:
            repoint(error, lambda _: "/dataset_id")
            raise
        source = {"kind": "dataset", "path": str(self._store.path(dataset.fingerprint)), "features": dataset.features}
        return DescribedRows(requested, source, dataset)
