"""A file is deleted with its last row while the same bytes are stored again: the new row always has its file."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from app.context import ServiceContext
from app.datasets.registration import staged_columns
from app.datasets.service import dataset_named_at, delete_dataset
from app.datasets.store import DatasetStore
from app.datasets.tables import DatasetRow
from app.jobs.states import JobState
from app.storage.database import writing
from app.storage.file_store import FileStore
from app.storage.garbage import drop_file
from app.trained_models.records import NewTrainedModel
from app.trained_models.service import delete_model
from app.trained_models.store import ArtifactStore
from tests.app.trained_models.made import make_trained_model
from tests.factories import job, make_job, store_columns
from tests.job_attempts import attempt_job
from workers.training import TrainingResult

COLUMNS = {"x": [1, 2, 3], "y": [0, 1, 1]}
#: The point at which the first of two transactions waits for the second to begin.
POINTS = ["withdraw", "publish"]


class Meeting:
    """Place where the thread that holds the lock of a file starts the other one, and lets it run into the lock."""

    def __init__(self, point: str) -> None:
        self._point = point
        self._other: threading.Thread | None = None

    def then(self, other: Callable[[], object]) -> None:
        """Set what the other thread does."""
        self._other = threading.Thread(target=other)

    def reach(self, point: str) -> None:
        if point == self._point and self._other is not None and self._other.ident is None:
            self._other.start()
            # It has either begun to wait for the lock, or nothing keeps it and it ends.
            self._other.join(0.5)

    def finish(self) -> None:
        assert self._other is not None
        assert self._other.ident is not None, f"the point {self._point} was not reached"
        self._other.join(30)
        assert not self._other.is_alive()


def _watched(kind: type[FileStore], meeting: Meeting, folder: Path, staging: Path) -> Any:
    class Watched(kind):  # type: ignore[misc, valid-type]
        """Store that stops at the meeting just before it changes its folder, inside the transaction."""

        def publish(self, staged: Path, key: str) -> None:
            meeting.reach("publish")
            super().publish(staged, key)

        def withdraw(self, key: str, discarded: Path, older_than_seconds: float = 0.0) -> bool:
            meeting.reach("withdraw")
            return super().withdraw(key, discarded, older_than_seconds)

    return Watched(folder, staging)


def _in_both_orders(point: str, meeting: Meeting, delete: Callable[[], object], store: Callable[[], object]) -> None:
    """Run the one that reaches `point` in this thread, and the other one from there in another thread."""
    first, second = (delete, store) if point == "withdraw" else (store, delete)
    meeting.then(second)
    first()
    meeting.finish()


@pytest.mark.parametrize("point", POINTS)
def test_a_job_ends_with_the_bytes_of_a_model_that_is_deleted(context: ServiceContext, point: str) -> None:
    doomed = make_trained_model(context, name="doomed")
    content = context.artifact_store.path(doomed.artifact_sha256).read_bytes()
    meeting, settings = Meeting(point), context.settings
    store: ArtifactStore = _watched(ArtifactStore, meeting, settings.artifacts_folder, settings.staging_folder)
    job_id = make_job(context)
    values = {name: getattr(doomed, name) for name in NewTrainedModel.__dataclass_fields__}
    new = NewTrainedModel(**values | {"name": "kept"})

    def body(*_: object) -> TrainingResult:
        return TrainingResult(new, (store.stage(lambda path: path.write_bytes(content)),))

    _in_both_orders(
        point,
        meeting,
        delete=lambda: delete_model(context.sessions, store, "doomed"),
        store=lambda: attempt_job(context, job_id, body),
    )
    assert job(context, job_id).state is JobState.SUCCEEDED
    assert store.path(doomed.artifact_sha256).read_bytes() == content
    assert list(settings.staging_folder.iterdir()) == []


@pytest.mark.parametrize("point", POINTS)
def test_a_data_set_is_uploaded_again_while_it_is_deleted(context: ServiceContext, point: str) -> None:
    doomed = store_columns(context, COLUMNS)
    meeting, settings = Meeting(point), context.settings
    store: DatasetStore = _watched(DatasetStore, meeting, settings.datasets_folder, settings.staging_folder)
    stored = []

    def upload() -> None:
        with (
            staged_columns(context.sessions, store, settings.limits, COLUMNS, "y", "again") as staged,
            writing(context.sessions) as session,
            staged.registered(session, store) as again,
        ):
            stored.append(again.dataset)

    def delete() -> None:
        delete_dataset(context.sessions, store, doomed.id)

    def drop() -> None:
        drop_file(context.sessions, store, DatasetRow.fingerprint, doomed.fingerprint)

    if point == "publish":
        # The row is gone, but its file is not yet: the upload publishes it while the deletion goes on.
        with writing(context.sessions) as session:
            session.execute(sa.delete(DatasetRow).where(DatasetRow.id == doomed.id))
        _in_both_orders(point, meeting, drop, upload)
    else:
        _in_both_orders(point, meeting, delete, upload)
    again = dataset_named_at(context.sessions, "/dataset_id", stored[0].id)
    assert again.id != doomed.id
    assert store.load(again.fingerprint).X.shape == (3, 1)
    assert list(settings.staging_folder.iterdir()) == []
