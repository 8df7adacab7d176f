"""All tables of the service. Importing this module registers them in `Base.metadata`, for Alembic and tests."""

from app.access.tables import ApiKeyRow
from app.audits.tables import AuditRow
from app.datasets.tables import DatasetRow
from app.jobs.tables import JobEventRow, JobFigureRow, JobInputRow, JobModelRow, JobRow
from app.predictions.tables import PredictionRow
from app.storage.orm import Base
from app.storage.store_id import StoreRow
from app.sweeps.tables import SweepCellRow
from app.trained_models.tables import ModelAliasRow, ModelMoveRow, ModelNameRow, TrainedModelRow

metadata = Base.metadata

__all__ = [
    "ApiKeyRow",
    "AuditRow",
    "DatasetRow",
    "JobEventRow",
    "JobFigureRow",
    "JobInputRow",
    "JobModelRow",
    "JobRow",
    "ModelAliasRow",
    "ModelMoveRow",
    "ModelNameRow",
    "PredictionRow",
    "StoreRow",
    "SweepCellRow",
    "TrainedModelRow",
    "metadata",
]
