"""job_origin: the request that has queued a job, for logs and traces

Revision: 20261202_job_origin
Follows: 20261201_job_figures
"""

import sqlalchemy as sa
from alembic import op

revision = "20261202_job_origin"
down_revision = "20261201_job_figures"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("request_id", sa.String(length=100), nullable=True))
    op.add_column("jobs", sa.Column("traceparent", sa.String(length=55), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("jobs") as batch:
        batch.drop_column("traceparent")
        batch.drop_column("request_id")
