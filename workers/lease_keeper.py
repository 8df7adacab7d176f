"""Lease keeper of a worker process: a small process beside it that no computation can stall.

A computation may hold Python's lock for minutes, and every thread of its process then waits, even one in the middle of
a transaction. So the lease is renewed by a process of its own. It is forked before the worker process opens a
connection or starts a thread, and shares a page of memory with it (`workers.job_board`). Two channels connect them:

    worker process  --- claim, end of the claim -->  keeper     closed if the worker process dies, however it dies
                    <-- the end was noted ---------
    worker process  <-- nothing is ever sent ------- keeper     closed if the keeper dies

If the keeper dies, the worker process ends too, because nobody would renew its lease: the job is taken back once the
lease has lapsed. On Linux the kernel of the system ends it, by the signal that it sends when the second channel is
closed; a thread, as on other systems, has to wait for Python's lock.
"""

import fcntl
import mmap
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import Pipe

from app.context import ServiceContext
from app.jobs.lease import Claim
from app.settings import Settings
from workers.job_board import JobBoard
from workers.keeper_process import END, encode_claim, keep_leases
from workers.monitor import JobMonitor


class LeaseKeeper:
    """Keeper process of this worker process, as a context manager or until `close`.

    shutdown_flag: one byte of shared memory; a value other than 0 asks the running job to return to the queue.
    """

    def __init__(
        self,
        settings: Settings,
        shutdown_flag: mmap.mmap,
        start_companion: Callable[[ServiceContext], None] | None = None,
    ) -> None:
        """Fork the keeper. Call this while the process has neither connections nor threads.

        start_companion: starts further work in the keeper, in threads.
        """
        self._board = JobBoard()
        self._channel, keeper_channel = Pipe()
        end_of_keeper, keeper_life = os.pipe()
        worker_pid = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            keep_leases(settings, self._board, shutdown_flag, keeper_channel, keeper_life, worker_pid, start_companion)
        keeper_channel.close()
        os.close(keeper_life)
        self._end_of_keeper = end_of_keeper
        _die_when_closed(end_of_keeper)

    @contextmanager
    def keeping(self, claim: Claim) -> Iterator[JobMonitor]:
        """Have the lease of a claim renewed until the block ends. Yields the monitor of the job."""
        self._board.clear()
        monitor = JobMonitor(self._board)
        self._channel.send_bytes(encode_claim(claim))
        try:
            yield monitor
        finally:
            # Without the answer, a late renewal could stop the next job.
            self._channel.send_bytes(END)
            self._channel.recv_bytes()

    def close(self) -> None:
        """End the keeper and wait for its end."""
        os.close(self._end_of_keeper)
        self._channel.close()
        os.waitpid(self.pid, 0)

    def __enter__(self) -> "LeaseKeeper":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _die_when_closed(pipe: int) -> None:
    """Have this process ended when the other end of a pipe is closed."""
    if sys.platform != "linux":  # Elsewhere, processes ignore SIGIO by default.
        threading.Thread(target=_exit_when_closed, args=(pipe,), name="end of keeper", daemon=True).start()
        return
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([pipe], [], [], 0)[0]:
        raise RuntimeError("the lease keeper ended at once; see the log above")


def _exit_when_closed(pipe: int) -> None:
    with suppress(OSError):  # `close` closes the pipe in an orderly end.
        if os.read(pipe, 1) == b"":
            os._exit(1)
