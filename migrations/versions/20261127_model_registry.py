"""model_registry: aliases, default versions and the log of their moves; description and tags of trained models

Revision: 20261127_model_registry
Follows: 20261126_audits_of_datasets
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "20261127_model_registry"
down_revision = "20261126_audits_of_datasets"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _describe_models()
    with op.batch_alter_table("model_names") as batch:
        batch.add_column(sa.Column("default_model_id", sa.Uuid(), nullable=True))
        batch.add_column(sa.Column("renamed_to", sa.String(length=200), nullable=True))
        batch.create_foreign_key(
            op.f("fk_model_names_default_model_id_trained_models"), "trained_models", ["default_model_id"], ["id"]
        )
        batch.create_index(op.f("ix_model_names_default_model_id"), ["default_model_id"])
    _create_aliases()
    _create_moves()


def _describe_models() -> None:
    op.add_column("trained_models", sa.Column("description", sa.Text(), nullable=True))
    op.add_column("trained_models", sa.Column("tags", JSON, nullable=True))
    op.execute(sa.table("trained_models", sa.column("tags", JSON)).update().values(tags=[]))
    with op.batch_alter_table("trained_models") as batch:
        batch.alter_column("tags", existing_type=JSON, nullable=False)


def _create_aliases() -> None:
    op.create_table(
        "model_aliases",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("model_id", sa.Uuid(), nullable=False),
        sa.Column("moved_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["model_id"], ["trained_models.id"], name=op.f("fk_model_aliases_model_id_trained_models")
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_model_aliases")),
    )
    op.create_index(op.f("ix_model_aliases_created_at"), "model_aliases", ["created_at"])
    op.create_index(op.f("ix_model_aliases_model_id"), "model_aliases", ["model_id"])


def _create_moves() -> None:
    op.create_table(
        "model_moves",
        sa.Column("id", SERIAL, autoincrement=True, nullable=False),
        sa.Column("pointer", sa.String(length=20), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("actor", sa.Text(), nullable=True),
        sa.Column("from_model", JSON, nullable=True),
        sa.Column("to_model", JSON, nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("pointer IN ('alias', 'default')", name=op.f("ck_model_moves_pointer")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_moves")),
    )
    op.create_index(op.f("ix_model_moves_created_at"), "model_moves", ["created_at"])
    op.create_index(op.f("ix_model_moves_pointer_name"), "model_moves", ["pointer", "name"])


def downgrade() -> None:
    op.drop_table("model_moves")
    op.drop_table("model_aliases")
    with op.batch_alter_table("model_names") as batch:
        batch.drop_constraint(op.f("fk_model_names_default_model_id_trained_models"), type_="foreignkey")
        batch.drop_index(op.f("ix_model_names_default_model_id"))
        batch.drop_column("renamed_to")
        batch.drop_column("default_model_id")
    with op.batch_alter_table("trained_models") as batch:
        batch.drop_column("tags")
        batch.drop_column("description")
