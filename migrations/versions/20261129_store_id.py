"""store_id: id that the database shares with the state folder

Revision: 20261129_store_id
Follows: 20261128_api_keys
"""

import sqlalchemy as sa
from alembic import op

revision = "20261129_store_id"
down_revision = "20261128_api_keys"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "store",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_store")),
    )


def downgrade() -> None:
    op.drop_table("store")
