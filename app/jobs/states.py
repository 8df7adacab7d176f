"""Kinds and states of jobs, and the transitions between states. `state_machine` applies them in SQL."""

from enum import StrEnum


class JobKind(StrEnum):
    """Kind of a job."""

    TRAIN = "train"  #: fits one model
    AUDIT = "audit"  #: looks for wrong labels
    SWEEP = "sweep"  #: compares models under noise; its cells do the work
    SWEEP_CELL = "sweep_cell"  #: one model under one noise
    PREDICT = "predict"  #: predicts stored rows or a data set


class JobState(StrEnum):
    """State of a job."""

    QUEUED = "queued"  #: can be claimed by a worker
    RUNNING = "running"  #: a worker has a lease on it; of a sweep, a cell was claimed
    CANCELLING = "cancelling"  #: asked to stop; the worker still has its lease
    SUCCEEDED = "succeeded"  #: its result is stored
    FAILED = "failed"  #: ended without a result; `error` gives the reason
    CANCELLED = "cancelled"  #: stopped by a user; nothing is stored except the finished cells of a sweep


#: Kinds that workers run.
WORKER_KINDS = frozenset({JobKind.TRAIN, JobKind.AUDIT, JobKind.SWEEP_CELL, JobKind.PREDICT})

#: Kinds without a worker task. The state of such a job is derived from the states of its child jobs.
PARENT_KINDS = frozenset(JobKind) - WORKER_KINDS

#: RUNNING returns to QUEUED if the worker dies or shuts down before the job has ended.
TRANSITIONS: dict[JobState, frozenset[JobState]] = {
    JobState.QUEUED: frozenset({JobState.RUNNING, JobState.CANCELLED}),
    JobState.RUNNING: frozenset({JobState.QUEUED, JobState.CANCELLING, JobState.SUCCEEDED, JobState.FAILED}),
    JobState.CANCELLING: frozenset({JobState.CANCELLED}),
    JobState.SUCCEEDED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
}

TERMINAL = frozenset(state for state, targets in TRANSITIONS.items() if not targets)

UNFINISHED = frozenset(JobState) - TERMINAL

#: The lease is live, or has lapsed and is about to be taken back.
LEASED = frozenset({JobState.RUNNING, JobState.CANCELLING})


def sources(target: JobState) -> frozenset[JobState]:
    """Return the states from which `target` can be entered."""
    return frozenset(state for state, targets in TRANSITIONS.items() if target in targets)
