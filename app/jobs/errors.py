"""Errors of jobs."""

from app.errors import Conflict, Invalid, NotFound, TooManyRequests


class JobNotFound(NotFound):
    code, title = "job_not_found", "Job not found"


class JobAlreadyFinished(Conflict):
    code, title = "job_already_finished", "Job already finished"


class IdempotencyKeyReused(Invalid):
    code, title = "idempotency_key_reused", "Idempotency key reused"


class TooManyQueuedJobs(TooManyRequests):
    code, title = "too_many_queued_jobs", "Too many queued jobs"
