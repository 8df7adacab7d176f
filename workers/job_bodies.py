"""Registry of the job bodies: one entry for each kind of job that workers run."""

from app.jobs.states import JobKind
from workers.auditing import audit
from workers.job_body import JobBody
from workers.predicting import predict
from workers.sweeping import sweep_cell
from workers.training import train

JOB_BODIES: dict[JobKind, JobBody] = {
    JobKind.TRAIN: train,
    JobKind.AUDIT: audit,
    JobKind.SWEEP_CELL: sweep_cell,
    JobKind.PREDICT: predict,
}
