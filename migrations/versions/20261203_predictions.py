"""predictions: jobs that predict, with their rows and results

Revision: 20261203_predictions
Follows: 20261202_job_origin
"""

import sqlalchemy as sa
from alembic import op

revision = "20261203_predictions"
down_revision = "20261202_job_origin"
branch_labels = None
depends_on = None

KINDS = "kind IN ('train', 'audit', 'sweep', 'sweep_cell', 'predict')"
KINDS_BEFORE = "kind IN ('train', 'audit', 'sweep', 'sweep_cell')"


def upgrade() -> None:
    with op.batch_alter_table("jobs") as batch:
        batch.drop_constraint(op.f("ck_jobs_kind"), type_="check")
        batch.create_check_constraint(op.f("ck_jobs_kind"), KINDS)
    op.create_table(
        "predictions",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("rows_sha256", sa.String(64), nullable=True),
        sa.Column("result_sha256", sa.String(64), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_predictions_job_id_jobs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_predictions")),
    )
    for column in ("rows_sha256", "result_sha256"):
        op.create_index(op.f(f"ix_predictions_{column}"), "predictions", [column])


def downgrade() -> None:
    op.drop_table("predictions")
    # The older version cannot run these jobs. Foreign keys are off during migrations on SQLite, so nothing cascades.
    for table in ("job_events", "job_inputs"):
        op.execute(f"DELETE FROM {table} WHERE job_id IN (SELECT id FROM jobs WHERE kind = 'predict')")
    op.execute("DELETE FROM jobs WHERE kind = 'predict'")
    with op.batch_alter_table("jobs") as batch:
        batch.drop_constraint(op.f("ck_jobs_kind"), type_="check")
        batch.create_check_constraint(op.f("ck_jobs_kind"), KINDS_BEFORE)
