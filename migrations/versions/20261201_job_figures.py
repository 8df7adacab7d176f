"""job_figures: sums for monitoring that outlive deleted jobs

Revision: 20261201_job_figures
Follows: 20261130_model_importances
"""

import sqlalchemy as sa
from alembic import op

revision = "20261201_job_figures"
down_revision = "20261130_model_importances"
branch_labels = None
depends_on = None

COUNT_ENDED = """
INSERT INTO job_figures (name, kind, label, amount)
SELECT 'ended', kind, state, count(*) FROM jobs WHERE state IN ('succeeded', 'failed', 'cancelled') GROUP BY kind, state
"""
COUNT_ATTEMPTS = """
INSERT INTO job_figures (name, kind, label, amount)
SELECT 'attempts', kind, 'started', sum(attempt) FROM jobs WHERE attempt > 0 GROUP BY kind
"""


def upgrade() -> None:
    op.create_table(
        "job_figures",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=20), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("label", sa.String(length=20), nullable=False),
        sa.Column("amount", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_figures")),
    )
    op.execute(COUNT_ENDED)
    op.execute(COUNT_ATTEMPTS)


def downgrade() -> None:
    op.drop_table("job_figures")
