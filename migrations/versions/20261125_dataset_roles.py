"""dataset_roles: roles, reading and warnings of data sets, rows without a label, description and tags

Revision: 20261125_dataset_roles
Follows: 20261124_sweeps
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "20261125_dataset_roles"
down_revision = "20261124_sweeps"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
NEW_COLUMNS: dict[str, sa.types.TypeEngine[Any]] = {
    "description": sa.Text(),
    "tags": JSON,
    "roles": JSON,
    "reading": JSON,
    "warnings": JSON,
    "n_labeled": sa.BigInteger(),
}


def upgrade() -> None:
    for name, type_ in NEW_COLUMNS.items():
        op.add_column("datasets", sa.Column(name, type_, nullable=True))
    datasets = sa.table(
        "datasets", *(sa.column(name, type_) for name, type_ in NEW_COLUMNS.items()), sa.column("n_rows")
    )
    # Until now every row needed a label. How an older file was read is not known.
    values = {"tags": [], "roles": {"weight": None, "group": None}, "reading": {}, "warnings": []}
    op.execute(datasets.update().values(**values, n_labeled=datasets.c.n_rows))
    with op.batch_alter_table("datasets") as batch:
        for name, type_ in NEW_COLUMNS.items():
            if name != "description":
                batch.alter_column(name, existing_type=type_, nullable=False)


def downgrade() -> None:
    with op.batch_alter_table("datasets") as batch:
        for name in NEW_COLUMNS:
            batch.drop_column(name)
