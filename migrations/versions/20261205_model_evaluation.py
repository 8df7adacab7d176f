"""model_evaluation: how trained models were evaluated

Revision: 20261205_model_evaluation
Follows: 20261204_job_models
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "20261205_model_evaluation"
down_revision = "20261204_job_models"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.add_column("trained_models", sa.Column("evaluation", JSON, nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("trained_models") as batch:
        batch.drop_column("evaluation")
