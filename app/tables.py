"""Every table of the service, imported for its side effect on `Base.metadata`."""

from app.datasets.tables import DatasetRow
from app.jobs.tables import JobEventRow, JobInputRow, JobRow
from app.orm import Base
from app.trained_models.tables import ModelNameRow, TrainedModelRow

metadata = Base.metadata

__all__ = ["DatasetRow", "JobEventRow", "JobInputRow", "JobRow", "ModelNameRow", "TrainedModelRow", "metadata"]
