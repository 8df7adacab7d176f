"""Answers while the database fails: they say that nothing was changed only if that is certain."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from app.context import ServiceContext
from app.datasets.errors import DatasetNotFound
from app.datasets.service import dataset_named_at, delete_dataset
from app.datasets.store import DatasetStore
from app.http.error_handlers import MAYBE_CHANGED, UNCHANGED
from app.settings import Settings
from tests.factories import make_dataset, store_columns

#: Ends the connection at the statement, or at the commit if the trigger is deferred.
TERMINATE = """
CREATE FUNCTION hang_up() RETURNS trigger AS
'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END' LANGUAGE plpgsql;
CREATE CONSTRAINT TRIGGER hang_up AFTER UPDATE ON datasets {when} FOR EACH ROW EXECUTE FUNCTION hang_up();
"""


@contextmanager
def _losing_connections(context: ServiceContext, when: str) -> Iterator[None]:
    engine = sa.create_engine(context.settings.database.url, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(TERMINATE.format(when=when))
        yield
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql("DROP TRIGGER hang_up ON datasets; DROP FUNCTION hang_up()")
        engine.dispose()


@pytest.mark.parametrize(("when", "detail"), [("", UNCHANGED), ("DEFERRABLE INITIALLY DEFERRED", MAYBE_CHANGED)])
def test_a_connection_that_is_lost(client: TestClient, context: ServiceContext, when: str, detail: str) -> None:
    if context.engine.dialect.name == "sqlite":
        pytest.skip("SQLite has no connection that can be lost")
    dataset_id = make_dataset(context)
    with _losing_connections(context, when):
        response = client.patch(f"/datasets/{dataset_id}", json={"name": "new"})
    assert (response.status_code, response.json()["detail"]) == (503, detail)


def test_a_table_that_is_missing(client: TestClient, context: ServiceContext) -> None:
    if context.engine.dialect.name == "postgresql":
        pytest.skip("PostgreSQL reports this as another kind of error")
    dataset_id = make_dataset(context)
    with sqlite3.connect(context.settings.database.url.removeprefix("sqlite:///"), isolation_level=None) as connection:
        connection.execute("ALTER TABLE datasets RENAME TO elsewhere")
        response = client.patch(f"/datasets/{dataset_id}", json={"name": "new"})
        connection.execute("ALTER TABLE elsewhere RENAME TO datasets")
    assert (response.status_code, response.json()["detail"]) == (503, UNCHANGED)


class TestDelete:
    """The answer is success once the deletion of the row is committed, whatever happens to the file."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(
            update={"database": settings.database.model_copy(update={"busy_timeout_seconds": 0.1})}
        )

    def _delete(self, context: ServiceContext, store: DatasetStore) -> Any:
        dataset = store_columns(context, {"x": [1, 2], "y": [0, 1]})
        delete_dataset(context.sessions, store, dataset.id)
        with pytest.raises(DatasetNotFound):
            dataset_named_at(context.sessions, "/dataset_id", dataset.id)
        return dataset

    def test_a_file_that_cannot_be_moved(self, context: ServiceContext) -> None:
        no_folder = context.settings.home / "nowhere"
        dataset = self._delete(context, DatasetStore(context.settings.datasets_folder, no_folder))
        assert context.dataset_store.holds(dataset.fingerprint)

    def test_a_database_that_is_busy_afterwards(self, context: ServiceContext) -> None:
        if context.engine.dialect.name == "postgresql":
            pytest.skip("PostgreSQL has no lock on all writes")

        class Locking(DatasetStore):
            """Store whose database is locked by another connection as soon as the row was deleted."""

            @contextmanager
            def discarding(self) -> Iterator[Path]:
                other = sqlite3.connect(context.settings.database.url.removeprefix("sqlite:///"), isolation_level=None)
                other.execute("BEGIN IMMEDIATE")
                try:
                    with super().discarding() as path:
                        yield path
                finally:
                    other.close()

        dataset = self._delete(context, Locking(context.settings.datasets_folder, context.settings.staging_folder))
        assert context.dataset_store.holds(dataset.fingerprint)
