"""initial: data sets, trained models, jobs, job events

Revision: 20261121_initial
Follows:
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "20261121_initial"
down_revision = None
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "datasets",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("n_rows", sa.BigInteger(), nullable=False),
        sa.Column("n_bytes", sa.BigInteger(), nullable=False),
        sa.Column("target", sa.String(length=500), nullable=False),
        sa.Column("classes", JSON, nullable=False),
        sa.Column("features", JSON, nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_datasets")),
        sa.UniqueConstraint("fingerprint", name=op.f("uq_datasets_fingerprint")),
    )
    op.create_index(op.f("ix_datasets_created_at"), "datasets", ["created_at"])
    op.create_index(op.f("ix_datasets_name"), "datasets", ["name"])
    op.create_index(op.f("ix_datasets_sha256"), "datasets", ["sha256"])

    op.create_table(
        "trained_models",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=50), nullable=False),
        sa.Column("parameters", JSON, nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("dataset_id", sa.Uuid(), nullable=False),
        sa.Column("data_sha256", sa.String(length=64), nullable=False),
        sa.Column("code_version", sa.String(length=50), nullable=False),
        sa.Column("fit_seconds", sa.Double(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("artifact_sha256", sa.String(length=64), nullable=False),
        sa.Column("metrics", JSON, nullable=False),
        sa.Column("feature_schema", JSON, nullable=False),
        sa.Column("noise", JSON, nullable=False),
        sa.Column("fitted", JSON, nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name=op.f("fk_trained_models_dataset_id_datasets")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trained_models")),
        sa.UniqueConstraint("name", "version", name=op.f("uq_trained_models_name_version")),
    )
    op.create_index(op.f("ix_trained_models_artifact_sha256"), "trained_models", ["artifact_sha256"])
    op.create_index(op.f("ix_trained_models_created_at"), "trained_models", ["created_at"])
    op.create_index(op.f("ix_trained_models_dataset_id"), "trained_models", ["dataset_id"])
    op.create_index(op.f("ix_trained_models_kind"), "trained_models", ["kind"])

    op.create_table(
        "jobs",
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("request", JSON, nullable=False),
        sa.Column("dataset_id", sa.Uuid(), nullable=False),
        sa.Column("model_id", sa.Uuid(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("lost_attempts", sa.Integer(), nullable=False),
        sa.Column("lease_expires_epoch", sa.Double(), nullable=True),
        sa.Column("published_epoch", sa.Double(), nullable=True),
        sa.Column("not_before_epoch", sa.Double(), nullable=False),
        sa.Column("progress", JSON, nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error_code", sa.String(length=100), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("idempotency_key", sa.String(length=200), nullable=True),
        sa.Column("request_sha256", sa.String(length=64), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('train')", name=op.f("ck_jobs_kind")),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'cancelling', 'succeeded', 'failed', 'cancelled')",
            name=op.f("ck_jobs_state"),
        ),
        sa.ForeignKeyConstraint(
            ["model_id"], ["trained_models.id"], name=op.f("fk_jobs_model_id_trained_models"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_jobs_idempotency_key")),
    )
    op.create_index(op.f("ix_jobs_created_at"), "jobs", ["created_at"])
    op.create_index(op.f("ix_jobs_dataset_id"), "jobs", ["dataset_id"])
    op.create_index(op.f("ix_jobs_kind"), "jobs", ["kind"])
    op.create_index(op.f("ix_jobs_lease_expires_epoch"), "jobs", ["lease_expires_epoch"])
    op.create_index(op.f("ix_jobs_model_id"), "jobs", ["model_id"])
    op.create_index(op.f("ix_jobs_state"), "jobs", ["state"])

    op.create_table(
        "job_events",
        sa.Column("id", SERIAL, autoincrement=True, nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("payload", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_events_job_id_jobs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_events")),
    )
    op.create_index(op.f("ix_job_events_created_at"), "job_events", ["created_at"])
    op.create_index(op.f("ix_job_events_job_id"), "job_events", ["job_id"])

    op.create_table(
        "job_inputs",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("dataset_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name=op.f("fk_job_inputs_dataset_id_datasets")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_inputs_job_id_jobs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "dataset_id", name=op.f("pk_job_inputs")),
    )
    op.create_index(op.f("ix_job_inputs_dataset_id"), "job_inputs", ["dataset_id"])

    op.create_table(
        "model_names",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("last_version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_model_names")),
    )


def downgrade() -> None:
    op.drop_table("model_names")
    op.drop_table("job_inputs")
    op.drop_table("job_events")
    op.drop_table("jobs")
    op.drop_table("trained_models")
    op.drop_table("datasets")
