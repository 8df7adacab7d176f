"""certificate: bound on the error of a trained model on unseen rows

Revision: 20261122_certificate
Follows: 20261121_initial
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "20261122_certificate"
down_revision = "20261121_initial"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.add_column("trained_models", sa.Column("certificate", JSON, nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("trained_models") as batch:
        batch.drop_column("certificate")
