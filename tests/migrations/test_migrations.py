"""Migrations: equality with the metadata, downgrades and preservation of rows."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, select, text
from sqlalchemy.orm import Session

from app.audits.tables import AuditRow
from app.context import open_context
from app.datasets.tables import DatasetRow
from app.jobs.service import cancel
from app.jobs.states import JobKind
from app.jobs.tables import JobEventRow, JobInputRow, JobModelRow, JobRow
from app.settings import DatabaseSettings
from app.storage.database import build_engine, reading, session_factory, writing
from app.storage.schema import alembic_config
from app.storage.schema_version import MIGRATIONS, is_current, revisions
from app.sweeps.tables import SweepCellRow
from app.tables import metadata
from app.trained_models.pointer_service import point_alias, set_default
from app.trained_models.service import delete_model
from app.trained_models.tables import ModelAliasRow, ModelNameRow, TrainedModelRow
from tests.app.trained_models.made import client_of, make_trained_model
from tests.conftest import make_settings
from tests.databases import fresh_database
from tests.factories import make_job, make_sweep

pytestmark = pytest.mark.slow


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    if request.param == "sqlite":
        engine = build_engine(DatabaseSettings(url=f"sqlite:///{tmp_path / 'empty.db'}"))
        yield engine
        engine.dispose()
        return
    with fresh_database(request.getfixturevalue("postgresql_url")) as url:
        engine = build_engine(DatabaseSettings(url=url))
        yield engine
        engine.dispose()


def _config(engine: Engine):
    return alembic_config(engine.url.render_as_string(hide_password=False))


def _tables(engine: Engine) -> set[str]:
    return set(inspect(engine).get_table_names()) - {"alembic_version"}


def test_names_of_files_are_the_revisions_in_their_order() -> None:
    scripts = ScriptDirectory(str(MIGRATIONS))
    assert revisions() == [script.revision for script in scripts.walk_revisions()][::-1]


def test_migrated_schema_equals_the_metadata(engine: Engine) -> None:
    command.upgrade(_config(engine), "head")
    with engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []
    assert _tables(engine) == set(metadata.tables)


def test_migrations_create_check_constraints(engine: Engine) -> None:
    command.upgrade(_config(engine), "head")
    migrated = {
        check["name"]: check["sqltext"].replace('"', "") for check in inspect(engine).get_check_constraints("jobs")
    }
    assert set(migrated) == {"ck_jobs_kind", "ck_jobs_state"}
    assert all(state in migrated["ck_jobs_state"] for state in ("queued", "cancelling", "cancelled"))
    assert all(f"'{kind}'" in migrated["ck_jobs_kind"] for kind in JobKind)


def test_migrations_can_be_reverted_and_repeated(engine: Engine) -> None:
    config = _config(engine)
    command.upgrade(config, "head")
    assert is_current(session_factory(engine))
    command.downgrade(config, "base")
    assert _tables(engine) == set()
    assert not is_current(session_factory(engine))
    command.upgrade(config, "head")
    assert _tables(engine) == set(metadata.tables)


def test_downgrade_before_certificates_keeps_trained_models(engine: Engine, tmp_path: Path) -> None:
    config = _config(engine)
    command.upgrade(config, "head")
    context = open_context(make_settings(tmp_path / "home", engine.url.render_as_string(hide_password=False)))
    model = make_trained_model(context)
    command.downgrade(config, "20261121_initial")
    assert "certificate" not in {column["name"] for column in inspect(engine).get_columns("trained_models")}
    command.upgrade(config, "head")
    with reading(context.sessions) as session:
        stored = session.get_one(TrainedModelRow, model.id)
        assert (stored.name, stored.metrics, stored.certificate) == (model.name, model.metrics, None)
    context.close()


def test_older_data_sets_get_values_for_new_columns(engine: Engine) -> None:
    config = _config(engine)
    command.upgrade(config, "20261124_sweeps")
    columns = {"name": "old", "sha256": "0" * 64, "fingerprint": "1" * 64, "n_rows": 7, "n_bytes": 9, "target": "y"}
    values = columns | {"id": uuid.uuid4().hex, "created_at": "2026-11-21 09:00:00", "classes": "[]", "features": "[]"}
    statement = f"INSERT INTO datasets ({', '.join(values)}) VALUES ({', '.join(f':{name}' for name in values)})"
    with engine.begin() as connection:
        connection.execute(text(statement), values)
    command.upgrade(config, "head")
    with Session(engine) as session:
        row = session.scalars(select(DatasetRow)).one()
        assert (row.name, row.n_rows, row.n_labeled) == ("old", 7, 7)
        assert (row.tags, row.warnings, row.reading, row.description) == ([], [], {}, None)
        assert row.roles == {"weight": None, "group": None}
    command.downgrade(config, "20261124_sweeps")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT name FROM datasets")).scalars().all() == ["old"]


def test_older_models_get_tags_and_names_keep_their_versions(engine: Engine, tmp_path: Path) -> None:
    config = _config(engine)
    command.upgrade(config, "head")
    context = open_context(make_settings(tmp_path / "home", engine.url.render_as_string(hide_password=False)))
    model = make_trained_model(context)
    point_alias(context.sessions, context.artifact_store, "production", str(model.id))
    set_default(context.sessions, model.name, model.version)
    command.downgrade(config, "20261126_audits_of_datasets")
    command.upgrade(config, "head")
    with reading(context.sessions) as session:
        stored, name = session.get_one(TrainedModelRow, model.id), session.get_one(ModelNameRow, model.name)
        assert (stored.tags, stored.description) == ([], None)
        assert (name.last_version, name.default_model_id, name.renamed_to) == (1, None, None)
        assert session.scalars(select(ModelAliasRow)).all() == []
    context.close()


def test_evaluations_of_older_models_are_unknown(engine: Engine, tmp_path: Path) -> None:
    config = _config(engine)
    command.upgrade(config, "head")
    context = open_context(make_settings(tmp_path / "home", engine.url.render_as_string(hide_password=False)))
    model = make_trained_model(context, evaluation={"kind": "cross_validation", "folds": 5})
    command.downgrade(config, "20261204_job_models")
    command.upgrade(config, "head")
    with client_of(context) as client:
        body = client.get(f"/models/{model.id}").json()
    assert (body["metrics"], body["evaluation"]) == (model.metrics, None)
    context.close()


def test_downgrade_before_sweeps_keeps_other_jobs(engine: Engine, tmp_path: Path) -> None:
    config = _config(engine)
    command.upgrade(config, "head")
    context = open_context(make_settings(tmp_path / "home", engine.url.render_as_string(hide_password=False)))
    train_id, sweep = make_job(context), make_sweep(context, 2)
    with writing(context.sessions) as session:
        cells = enumerate(sweep.children)
        session.add_all(SweepCellRow(job_id=cell.id, position=number) for number, cell in cells)
    command.downgrade(config, "20261123_audits")
    command.upgrade(config, "head")
    with reading(context.sessions) as session:
        assert session.scalars(select(JobRow.id)).all() == [train_id]
        assert session.scalars(select(JobEventRow.job_id)).all() == [train_id]
        assert session.scalars(select(JobInputRow.job_id)).all() == [train_id]
        assert session.scalars(select(SweepCellRow.job_id)).all() == []
    context.close()


def test_downgrade_before_audits_keeps_training_jobs(engine: Engine, tmp_path: Path) -> None:
    config = _config(engine)
    command.upgrade(config, "head")
    context = open_context(make_settings(tmp_path / "home", engine.url.render_as_string(hide_password=False)))
    train_id, audit_id = make_job(context), make_job(context, kind=JobKind.AUDIT)
    columns = {"classes": [0, 1], "n_rows": 2, "n_issues": 0, "report": {}, "issues_sha256": "0" * 64}
    with writing(context.sessions) as session:
        session.add(AuditRow(job_id=audit_id, **columns))
    command.downgrade(config, "20261122_certificate")
    command.upgrade(config, "head")
    with reading(context.sessions) as session:
        assert session.scalars(select(JobRow.id)).all() == [train_id]
        assert session.scalars(select(JobEventRow.job_id)).all() == [train_id]
        assert session.scalars(select(JobInputRow.job_id)).all() == [train_id]
    context.close()


def test_models_of_older_predictions_are_kept_until_these_end(engine: Engine, tmp_path: Path) -> None:
    config = _config(engine)
    command.upgrade(config, "head")
    context = open_context(make_settings(tmp_path / "home", engine.url.render_as_string(hide_password=False)))
    model, deleted = make_trained_model(context), make_trained_model(context)
    waiting, ended, _ = [
        make_job(context, kind=JobKind.PREDICT, request={"model_id": str(each.id)}) for each in (model, model, deleted)
    ]
    cancel(context.sessions, context.settings.limits, ended)
    delete_model(context.sessions, context.artifact_store, str(deleted.id))
    command.downgrade(config, "20261203_predictions")
    command.upgrade(config, "head")
    with reading(context.sessions) as session:
        assert [(row.job_id, row.model_id) for row in session.scalars(select(JobModelRow))] == [(waiting, model.id)]
    context.close()


COPYING_MIGRATION = """
revision = "copies_jobs"
down_revision = "20261124_sweeps"

from alembic import op


def upgrade():
    with op.batch_alter_table("jobs", recreate="always") as batch:
        batch.alter_column("error_code", existing_nullable=True, nullable=True)
"""


def test_copying_a_table_keeps_referencing_rows(tmp_path: Path) -> None:
    """On SQLite, a migration changes a constraint by copying the table and dropping the old one."""
    settings = make_settings(tmp_path, f"sqlite:///{tmp_path / 'test.db'}")
    config = alembic_config(settings.database.url)
    command.upgrade(config, "head")
    context = open_context(settings)
    job_id = make_job(context)
    (tmp_path / "copies_jobs.py").write_text(COPYING_MIGRATION)
    config.set_main_option("path_separator", "os")
    config.set_main_option("version_locations", os.pathsep.join([str(MIGRATIONS / "versions"), str(tmp_path)]))
    command.upgrade(config, "copies_jobs")
    with reading(context.sessions) as session:
        assert session.scalars(select(JobEventRow.job_id)).all() == [job_id]
        assert session.scalars(select(JobInputRow.job_id)).all() == [job_id]
    context.close()
