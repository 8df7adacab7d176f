"""Code that runs in the lease keeper's own process, from the fork to the end of the worker process."""

import logging
import mmap
import os
import signal
import time
import uuid
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from sqlalchemy.exc import OperationalError

from app.context import ServiceContext, open_context
from app.jobs.lease import Claim, JobOrigin, renew
from app.jobs.states import JobState
from app.logs import NOTHING, correlation
from app.settings import Settings
from app.storage.database import writing
from app.storage.disk_space import is_full
from workers.job_board import JobBoard, StopReason
from workers.outcomes import LeaseLost, Stop
from workers.process_state import is_stopped
from workers.stop_enforcement import StopEnforcer

log = logging.getLogger(__name__)

END = b"end"

#: Ignored, so that a signal to the whole process group does not end the keeper before its worker process.
_GROUP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_LAST_STANDARD_STREAM = 2
#: Stands for the id of a request in messages about jobs without one.
_NO_REQUEST = "-"


def encode_claim(claim: Claim) -> bytes:
    """Return the message that announces a claim."""
    return f"{claim.job_id} {claim.attempt} {claim.origin.request_id or _NO_REQUEST}".encode()


def _decode_claim(message: bytes) -> Claim:
    job_id, attempt, request_id = message.decode().split()
    origin = JobOrigin(request_id=None if request_id == _NO_REQUEST else request_id)
    return Claim(uuid.UUID(job_id), int(attempt), request_text="{}", origin=origin)


def keep_leases(
    settings: Settings,
    board: JobBoard,
    shutdown_flag: mmap.mmap,
    channel: Connection,
    life: int,
    worker_pid: int,
    start_companion: Callable[[ServiceContext], None] | None,
) -> NoReturn:
    """Run the keeper in a process that was just forked, and exit with it.

    life: file descriptor that is open exactly as long as this process lives.
    """
    exit_code = 1
    try:
        _leave_the_worker(keep=(channel.fileno(), life))
        context = open_context(settings)
        if start_companion is not None:
            start_companion(context)
        Keeper(context, board, shutdown_flag, channel, worker_pid).run()
        exit_code = 0
    except BaseException:
        log.exception("the lease keeper failed")
    finally:
        # Neither the handlers of the worker process at exit nor its buffers belong to this process.
        os._exit(exit_code)


def _leave_the_worker(keep: tuple[int, ...]) -> None:
    """Give up what the fork has copied: process group, signal handlers, and open files such as the broker's sockets."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    for number in _GROUP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    # Replaced instead of closed: objects of the worker process may still close their number, which must not be that of
    # a connection of the keeper.
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in map(int, os.listdir("/dev/fd")):
        if descriptor > _LAST_STANDARD_STREAM and descriptor not in (*keep, nothing):
            _replace(descriptor, nothing)


def _replace(descriptor: int, nothing: int) -> None:
    try:
        os.fstat(descriptor)
    except OSError:
        return  # the one with which the folder was listed
    os.dup2(nothing, descriptor, inheritable=False)


class Keeper:
    """Loop that renews the lease of the current claim, and passes on requests to stop."""

    def __init__(
        self, context: ServiceContext, board: JobBoard, shutdown_flag: mmap.mmap, channel: Connection, worker_pid: int
    ) -> None:
        self._sessions, self._settings = context.sessions, context.settings.jobs
        self._board, self._shutdown_flag = board, shutdown_flag
        self._channel, self._worker_pid = channel, worker_pid
        self._claim: Claim | None = None
        self._reported: dict[str, Any] = {}
        self._renewed = self._next_renewal = 0.0
        self._enforcer: StopEnforcer | None = None

    def run(self) -> None:
        """Serve until the worker process has ended, and write the end of a job that it was asked to stop."""
        try:
            while True:
                if self._channel.poll(self._seconds_until_renewal()):
                    self._receive(self._channel.recv_bytes())
                elif self._claim is not None:
                    self._keep_unless_stopped(self._claim)
        except (EOFError, ConnectionError):
            # All threads of the worker process have ended: the channel is closed with the last of them.
            self._close_enforcer()
            if self._claim is not None:
                self._end(self._claim)

    def _seconds_until_renewal(self) -> float | None:
        return None if self._claim is None else max(0.0, self._next_renewal - time.monotonic())

    def _receive(self, message: bytes) -> None:
        self._close_enforcer()
        if message == END:
            self._claim = None
            correlation.set(NOTHING)
            self._channel.send_bytes(END)
            return
        self._claim = _decode_claim(message)
        correlation.set(self._claim.correlation)
        self._renewed = time.monotonic()
        self._next_renewal = self._renewed + self._settings.renew_interval_seconds
        self._reported = {}
        grace_seconds = self._settings.stop_grace_seconds
        self._enforcer = StopEnforcer(
            self._board, self._shutdown_flag, self._worker_pid, grace_seconds, self._claim.correlation
        )
        self._enforcer.start()

    def _close_enforcer(self) -> None:
        if self._enforcer is not None:
            self._enforcer.close()
            self._enforcer = None

    def _keep_unless_stopped(self, claim: Claim) -> None:
        """Renew the lease, unless the worker process is stopped by a signal: another worker then gets the job.

        A process that is continued later finds that it has lost the lease, or goes on if nobody took the job.
        """
        if not is_stopped(self._worker_pid):
            self._keep(claim)
        self._next_renewal = time.monotonic() + self._settings.renew_interval_seconds

    def _keep(self, claim: Claim) -> None:
        try:
            self._renew(claim)
        except OperationalError as error:
            # A database without space refuses the writes of all, so that nobody can have taken the job back.
            if not is_full(error):
                self._stop_if_overdue()
        except Exception:
            log.exception("the lease could not be renewed")
            self._stop_if_overdue()

    def _renew(self, claim: Claim) -> None:
        requested = time.monotonic()
        with writing(self._sessions) as session:
            state = renew(session, claim, self._settings.lease_seconds, self._news())
        if state is None:
            self._board.stop(StopReason.LEASE_LOST)
        elif state is JobState.CANCELLING:
            self._board.stop(StopReason.CANCEL)
        self._renewed = requested

    def _news(self) -> dict[str, Any] | None:
        """Return the progress if phase or counts have changed since the last call."""
        progress = self._board.read_progress()
        position = progress and {key: value for key, value in progress.items() if key != "eta_seconds"}
        if position is None or position == self._reported:
            return None
        self._reported = position
        return progress

    def _stop_if_overdue(self) -> None:
        # The owner of the job is unknown while the database is unavailable. Once the lease has ended, another worker
        # may own it.
        seconds_since_renewal = time.monotonic() - self._renewed
        if seconds_since_renewal > self._settings.lease_seconds:
            self._board.stop(StopReason.LEASE_LOST)

    def _end(self, claim: Claim) -> None:
        """Write the end of the job of a dead worker process if it was asked to stop.

        Otherwise its death is a loss, and the job is taken back once the lease has lapsed.
        """
        reason = StopReason.SHUTDOWN if self._shutdown_flag[0] else None
        reason = self._board.stop_reason or reason
        deadline = time.monotonic() + self._settings.lease_seconds
        while reason is not None and reason is not StopReason.LEASE_LOST and time.monotonic() < deadline:
            try:
                with writing(self._sessions) as session:
                    Stop(reason).write(session, claim)
            except OperationalError:
                time.sleep(self._settings.renew_interval_seconds)
            except LeaseLost:
                return
            else:
                return
