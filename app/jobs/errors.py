"""Errors of jobs."""

from app.errors import Conflict, Invalid, NotFound, TooManyRequests, Unavailable


class JobNotFound(NotFound):
    code, title = "job_not_found", "Job not found"


class JobAlreadyFinished(Conflict):
    code, title = "job_already_finished", "Job already finished"


class JobNotFinished(Conflict):
    code, title = "job_not_finished", "Job not finished"


class ChildJobNotDeletable(Conflict):
    code, title = "child_job_not_deletable", "Child job cannot be deleted alone"


class IdempotencyKeyReused(Invalid):
    code, title = "idempotency_key_reused", "Idempotency key reused"


class TooManyQueuedJobs(TooManyRequests):
    code, title = "too_many_queued_jobs", "Too many queued jobs"
    retry_after_seconds = 5


class TooManyStreams(Unavailable):
    code, title = "too_many_streams", "Too many streams of events"
    retry_after_seconds = 5
