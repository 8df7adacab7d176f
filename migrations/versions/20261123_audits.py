"""audits: audit results, kinds of audit and sweep jobs, child jobs

Revision: 20261123_audits
Follows: 20261122_certificate
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "20261123_audits"
down_revision = "20261122_certificate"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

KINDS = "kind IN ('train', 'audit', 'sweep', 'sweep_cell')"
KINDS_BEFORE = "kind IN ('train')"


def upgrade() -> None:
    with op.batch_alter_table("jobs") as batch:
        batch.drop_constraint(op.f("ck_jobs_kind"), type_="check")
        batch.create_check_constraint(op.f("ck_jobs_kind"), KINDS)
        batch.add_column(sa.Column("parent_id", sa.Uuid(), nullable=True))
        batch.create_foreign_key(op.f("fk_jobs_parent_id_jobs"), "jobs", ["parent_id"], ["id"], ondelete="CASCADE")
        batch.create_index(op.f("ix_jobs_parent_id"), ["parent_id"])

    op.create_table(
        "audits",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("classes", JSON, nullable=False),
        sa.Column("n_rows", sa.BigInteger(), nullable=False),
        sa.Column("n_issues", sa.BigInteger(), nullable=False),
        sa.Column("report", JSON, nullable=False),
        sa.Column("issues_sha256", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_audits_job_id_jobs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_audits")),
    )
    op.create_index(op.f("ix_audits_issues_sha256"), "audits", ["issues_sha256"])


def downgrade() -> None:
    op.drop_table("audits")
    # Foreign keys are off during migrations on SQLite, so deletions do not cascade.
    for table in ("job_events", "job_inputs"):
        op.execute(f"DELETE FROM {table} WHERE job_id IN (SELECT id FROM jobs WHERE kind <> 'train')")
    op.execute("DELETE FROM jobs WHERE kind <> 'train'")
    with op.batch_alter_table("jobs") as batch:
        batch.drop_constraint(op.f("ck_jobs_kind"), type_="check")
        batch.create_check_constraint(op.f("ck_jobs_kind"), KINDS_BEFORE)
        batch.drop_index(op.f("ix_jobs_parent_id"))
        batch.drop_constraint(op.f("fk_jobs_parent_id_jobs"), type_="foreignkey")
        batch.drop_column("parent_id")
