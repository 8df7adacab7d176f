"""sweeps: scores of sweep cells

Revision: 20261124_sweeps
Follows: 20261123_audits
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "20261124_sweeps"
down_revision = "20261123_audits"
branch_labels = None
depends_on = None

IS_SWEEP_JOB = "kind IN ('sweep', 'sweep_cell')"
JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "sweep_cells",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("scores", JSON, nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_sweep_cells_job_id_jobs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_sweep_cells")),
    )


def downgrade() -> None:
    op.drop_table("sweep_cells")
    # The older version cannot run these jobs. Foreign keys are off during migrations on SQLite, so nothing cascades.
    for table in ("job_events", "job_inputs"):
        op.execute(f"DELETE FROM {table} WHERE job_id IN (SELECT id FROM jobs WHERE {IS_SWEEP_JOB})")
    op.execute(f"DELETE FROM jobs WHERE {IS_SWEEP_JOB}")
