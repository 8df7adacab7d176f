"""What a job may become. Pure: the repository guards these rules in SQL, everybody else asks here."""

from enum import StrEnum


class JobKind(StrEnum):
    TRAIN = "train"  #: fits one model
    AUDIT = "audit"  #: looks for wrong labels
    SWEEP = "sweep"  #: compares models under noise; its work is done by its cells
    SWEEP_CELL = "sweep_cell"  #: one model under one noise


class JobState(StrEnum):
    QUEUED = "queued"  #: waits for a worker
    RUNNING = "running"  #: a worker holds a lease on it; of a sweep, a cell has begun
    CANCELLING = "cancelling"  #: a stop was asked for; the worker has not yet let go
    SUCCEEDED = "succeeded"  #: its result is stored
    FAILED = "failed"  #: ended without a result; `error` says why
    CANCELLED = "cancelled"  #: stopped by a user; nothing was kept but the finished cells of a sweep


#: Kinds that a worker runs. A sweep is run by nobody: what becomes of it follows from its cells.
WORK = frozenset({JobKind.TRAIN, JobKind.AUDIT, JobKind.SWEEP_CELL})

#: Kinds whose work is done by jobs of their own.
FAMILIES = frozenset(JobKind) - WORK

#: QUEUED is entered again when a worker dies or shuts down with the job unfinished.
TRANSITIONS: dict[JobState, frozenset[JobState]] = {
    JobState.QUEUED: frozenset({JobState.RUNNING, JobState.CANCELLED}),
    JobState.RUNNING: frozenset({JobState.QUEUED, JobState.CANCELLING, JobState.SUCCEEDED, JobState.FAILED}),
    JobState.CANCELLING: frozenset({JobState.CANCELLED}),
    JobState.SUCCEEDED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
}

TERMINAL = frozenset(state for state, targets in TRANSITIONS.items() if not targets)

#: Still to end.
OPEN = frozenset(JobState) - TERMINAL

#: A worker's lease is live, or lapsed and about to be taken away.
LEASED = frozenset({JobState.RUNNING, JobState.CANCELLING})


def sources(target: JobState) -> frozenset[JobState]:
    """The states from which `target` may be entered."""
    return frozenset(state for state, targets in TRANSITIONS.items() if target in targets)
