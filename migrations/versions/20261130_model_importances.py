"""model_importances: permutation importances of trained models

Revision: 20261130_model_importances
Follows: 20261129_store_id
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "20261130_model_importances"
down_revision = "20261129_store_id"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.add_column("trained_models", sa.Column("importances", JSON, nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("trained_models") as batch:
        batch.drop_column("importances")
