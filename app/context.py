"""Resources of one API or worker process: opened once at its start and handed down."""

from dataclasses import dataclass

from sqlalchemy import Engine

from app.audits.service import issue_files
from app.audits.store import IssueStore
from app.datasets.store import DatasetStore
from app.jobs.files import JobFiles
from app.predictions.results import prediction_files
from app.predictions.service import ServedModels
from app.predictions.store import PredictionStore, RowsStore
from app.settings import Settings
from app.storage.database import SessionFactory, build_engine, session_factory
from app.storage.generation import Generation
from app.telemetry.instruments import Instruments
from app.trained_models.reference_cache import ReferenceCache
from app.trained_models.registry_changes import announce_changes
from app.trained_models.store import ArtifactStore


@dataclass(frozen=True)
class ServiceContext:
    """Settings, database, stores and open models of one process."""

    settings: Settings
    engine: Engine
    sessions: SessionFactory
    dataset_store: DatasetStore
    artifact_store: ArtifactStore
    issue_store: IssueStore
    rows_store: RowsStore
    prediction_store: PredictionStore
    served_models: ServedModels
    instruments: Instruments

    @property
    def job_files(self) -> list[JobFiles]:
        """Files of all kinds that belong to jobs."""
        return [issue_files(self.issue_store), *prediction_files(self.rows_store, self.prediction_store)]

    def close(self) -> None:
        self.instruments.close()
        self.engine.dispose()


def open_context(settings: Settings, instruments: Instruments | None = None) -> ServiceContext:
    """Create missing state folders and open all resources. Call this after a fork, never before.

    instruments: metrics of a process that serves requests.
    """
    instruments = instruments or Instruments()
    stores = (
        settings.datasets_folder,
        settings.artifacts_folder,
        settings.issues_folder,
        settings.rows_folder,
        settings.predictions_folder,
    )
    for folder in (settings.home, settings.staging_folder, *stores):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    engine = build_engine(settings.database)
    sessions = session_factory(engine)
    generation = Generation(settings.generation_file)
    announce_changes(sessions, generation)
    staging, min_free_bytes = settings.staging_folder, settings.limits.min_free_bytes
    return ServiceContext(
        settings=settings,
        engine=engine,
        sessions=sessions,
        dataset_store=DatasetStore(settings.datasets_folder, staging, min_free_bytes),
        artifact_store=ArtifactStore(settings.artifacts_folder, staging, min_free_bytes),
        issue_store=IssueStore(settings.issues_folder, staging, min_free_bytes),
        rows_store=RowsStore(settings.rows_folder, staging, min_free_bytes),
        prediction_store=PredictionStore(settings.predictions_folder, staging, min_free_bytes),
        served_models=ServedModels(
            ReferenceCache(generation), settings.server.model_cache_bytes, instruments.model_cache
        ),
        instruments=instruments,
    )
