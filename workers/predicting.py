"""Body of a prediction: encode a data set if there is one, predict its rows piece by piece, and write the result."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.context import ServiceContext
from app.datasets.service import DatasetService
from app.jobs.lease import Claim
from app.predictions.coercion import Leniency
from app.predictions.dataset_rows import tables_of_dataset
from app.predictions.encoded_rows import RowsInFile, write_rows
from app.predictions.results import register_result
from app.predictions.service import PredictionService, ServedModel
from app.predictions.specs import PredictSpec
from app.predictions.store import ResultHead, write_result
from app.requests.job_memory import PREDICTED_CELLS, prediction_memory
from app.storage.content_store import StagedFile
from app.storage.database import reading
from app.storage.staging import staged_path
from workers.full_disk import when_it_fits
from workers.monitor import JobMonitor


@dataclass(frozen=True)
class PredictionResult:
    """File of probabilities of one job."""

    claim: Claim
    files: tuple[StagedFile]

    def store(self, session: Session, context: ServiceContext) -> dict[str, Any]:
        register_result(session, self.claim.job_id, self.files[0].sha256)
        return {}


def predict(context: ServiceContext, claim: Claim, monitor: JobMonitor) -> PredictionResult:
    """Run the prediction that a `PredictSpec` asks for and write its result to a file."""
    spec = PredictSpec.model_validate(claim.request)
    monitor.plan({"loading": 0.2, "predicting": 0.8})
    monitor.begin("loading", 1, "tables")
    service = PredictionService(context.sessions, context.artifact_store, context.served_models, context.instruments)
    served = service.open(str(spec.model_id))
    columns = len(served.encoder.columns) + len(served.labels)
    memory = prediction_memory(_model_bytes(context, served), spec.n_rows, columns)
    memory.check(context.settings.limits.max_job_bytes)
    with staged_path(context.settings.staging_folder, "rows", ".encoded") as path:
        rows = _rows(context, spec, served, path)
        monitor.begin("predicting", rows.n_rows, "rows")
        head = ResultHead(served.reference(), served.labels, served.label_texts, served.bytes_per_row, spec.output)
        parts = partial(_predicted, served, rows, monitor)
        stage = partial(context.prediction_store.stage, lambda out: write_result(out, head, parts()))
        return PredictionResult(claim, (when_it_fits(stage, monitor),))


def _model_bytes(context: ServiceContext, served: ServedModel) -> int:
    return context.artifact_store.path(served.artifact_sha256).stat().st_size


def _rows(context: ServiceContext, spec: PredictSpec, served: ServedModel, path: Path) -> RowsInFile:
    if spec.rows_sha256 is not None:
        return RowsInFile(context.rows_store.path(spec.rows_sha256), spec.n_rows, len(served.encoder.columns))
    assert spec.dataset_id is not None, "a prediction has rows or a data set"
    with reading(context.sessions) as session:
        dataset = DatasetService(session, context.dataset_store).get(spec.dataset_id)
    leniency = Leniency(spec.on_unknown, spec.on_missing, spec.extra)
    tables = tables_of_dataset(context.dataset_store.path(dataset.fingerprint), dataset.features, served.encoder)
    return write_rows(tables, served.encoder, leniency, path, dataset.n_rows)


def _predicted(served: ServedModel, rows: RowsInFile, monitor: JobMonitor) -> Iterator[NDArray[np.float64]]:
    most_rows = max(1, PREDICTED_CELLS // (len(served.encoder.columns) + len(served.labels)))
    n_done = 0
    for X in rows.pieces(most_rows):
        monitor.raise_if_stopped()
        yield served.predict(X).probabilities
        n_done += len(X)
        monitor.advance(n_done)
