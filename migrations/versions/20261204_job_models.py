"""job_models: trained models that unfinished jobs need, which cannot be deleted

Revision: 20261204_job_models
Follows: 20261203_predictions
"""

import uuid
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "20261204_job_models"
down_revision = "20261203_predictions"
branch_labels = None
depends_on = None

UNFINISHED = ("queued", "running", "cancelling")


def upgrade() -> None:
    job_models = op.create_table(
        "job_models",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("model_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_models_job_id_jobs"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["model_id"], ["trained_models.id"], name=op.f("fk_job_models_model_id_trained_models")
        ),
        sa.PrimaryKeyConstraint("job_id", "model_id", name=op.f("pk_job_models")),
    )
    op.create_index(op.f("ix_job_models_model_id"), "job_models", ["model_id"])
    if needed := _needed_models():
        op.bulk_insert(job_models, needed)


def _needed_models() -> list[dict[str, Any]]:
    """Return the models of unfinished predictions. A job whose model was deleted already will fail, as before."""
    identity, request = sa.column("id", sa.Uuid()), sa.column("request", sa.JSON())
    jobs = sa.table("jobs", identity, sa.column("kind", sa.String()), sa.column("state", sa.String()), request)
    models = sa.table("trained_models", sa.column("id", sa.Uuid()))
    unfinished = sa.select(jobs.c.id, jobs.c.request).where(jobs.c.kind == "predict", jobs.c.state.in_(UNFINISHED))
    connection = op.get_bind()
    needed = {job_id: uuid.UUID(request["model_id"]) for job_id, request in connection.execute(unfinished)}
    existing = set(connection.scalars(sa.select(models.c.id)))
    return [{"job_id": job_id, "model_id": model_id} for job_id, model_id in needed.items() if model_id in existing]


def downgrade() -> None:
    op.drop_table("job_models")
