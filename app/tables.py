"""All tables of the service. Importing this module registers them in `Base.metadata`, for Alembic and tests."""

from app.audits.tables import AuditRow
from app.datasets.tables import DatasetRow
from app.jobs.tables import JobEventRow, JobInputRow, JobRow
from app.storage.orm import Base
from app.sweeps.tables import SweepCellRow
from app.trained_models.tables import ModelNameRow, TrainedModelRow

metadata = Base.metadata

__all__ = [
    "AuditRow",
    "DatasetRow",
    "JobEventRow",
    "JobInputRow",
    "JobRow",
    "ModelNameRow",
    "SweepCellRow",
    "TrainedModelRow",
    "metadata",
]
