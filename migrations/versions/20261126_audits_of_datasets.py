"""audits_of_datasets: the result of an audit is deleted with its data set

Revision: 20261126_audits_of_datasets
Follows: 20261125_dataset_roles
"""

import sqlalchemy as sa
from alembic import op

revision = "20261126_audits_of_datasets"
down_revision = "20261125_dataset_roles"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Null where the data set was deleted before: such a result has no other owner than its job.
    with op.batch_alter_table("audits") as batch:
        batch.add_column(sa.Column("dataset_id", sa.Uuid(), nullable=True))
        batch.create_foreign_key(
            op.f("fk_audits_dataset_id_datasets"), "datasets", ["dataset_id"], ["id"], ondelete="CASCADE"
        )
        batch.create_index(op.f("ix_audits_dataset_id"), ["dataset_id"])
    audits = sa.table("audits", sa.column("job_id", sa.Uuid()), sa.column("dataset_id", sa.Uuid()))
    jobs = sa.table("jobs", sa.column("id", sa.Uuid()), sa.column("dataset_id", sa.Uuid()))
    datasets = sa.table("datasets", sa.column("id", sa.Uuid()))
    of_job = sa.select(jobs.c.dataset_id).join(datasets, datasets.c.id == jobs.c.dataset_id)
    op.execute(audits.update().values(dataset_id=of_job.where(jobs.c.id == audits.c.job_id).scalar_subquery()))


def downgrade() -> None:
    with op.batch_alter_table("audits") as batch:
        batch.drop_index(op.f("ix_audits_dataset_id"))
        batch.drop_constraint(op.f("fk_audits_dataset_id_datasets"), type_="foreignkey")
        batch.drop_column("dataset_id")
