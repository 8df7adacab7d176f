"""Child processes of the supervisor: started in their own session, restarted if they die, stopped at the end."""

import contextlib
import ctypes
import functools
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

FIRST_DELAY_SECONDS = 0.2
MAX_DELAY_SECONDS = 10.0
STEADY_AFTER_SECONDS = 30.0

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class ChildCommand:
    """Command of a child process.

    output: file that its output is appended to; None = the terminal. descriptors: of files that it inherits.
    """

    name: str
    arguments: Sequence[str]
    stop_seconds: float
    output: Path | None = None
    descriptors: Sequence[int] = ()


def spawn(command: ChildCommand, environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start `command` in its own session, so that Ctrl-C on the terminal reaches only the caller.

    On Linux the child gets SIGTERM if the caller dies without having stopped it.
    """
    with contextlib.ExitStack() as stack:
        output = stack.enter_context(command.output.open("ab")) if command.output else None
        return subprocess.Popen(
            command.arguments,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            start_new_session=True,
            pass_fds=command.descriptors,
            preexec_fn=_death_signal_setter(os.getpid()),
        )


def _death_signal_setter(parent_pid: int) -> Callable[[], None] | None:
    return functools.partial(_die_with, parent_pid, ctypes.CDLL(None)) if sys.platform == "linux" else None


def _die_with(parent_pid: int, libc: ctypes.CDLL) -> None:
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    # If the parent died between fork and prctl, the signal would never come.
    if os.getppid() != parent_pid:
        os._exit(1)


class ChildProcess:
    """Child process that is restarted if it dies.

    The delay before a restart doubles from 0.2 s to 10 s. It is reset once the child has run for 30 s.
    """

    def __init__(self, command: ChildCommand, environment: Mapping[str, str]) -> None:
        self.name = command.name
        self._command = command
        self._environment = environment
        self._delay_seconds = FIRST_DELAY_SECONDS
        self._start()

    @property
    def exit_code(self) -> int | None:
        """Exit code of the child: None while it runs, negative if a signal ended it."""
        return self._process.poll()

    def keep_alive(self) -> None:
        """Restart the child if it has died and its delay is over. Never blocks."""
        if self.exit_code is None:
            return
        now = time.monotonic()
        if self._restart_at is None:
            self._note_death(now)
        elif now >= self._restart_at:
            self._start()
            log.info("%s restarted as process %d", self.name, self._process.pid)

    def ask_to_stop(self) -> None:
        """Send SIGTERM, and return at once."""
        if self.exit_code is None:
            self._process.terminate()

    def stop(self, *, at_once: Callable[[], bool]) -> None:
        """Send SIGTERM, then SIGKILL to the whole group after `stop_seconds` or as soon as `at_once()` is true."""
        self.ask_to_stop()
        deadline = time.monotonic() + self._command.stop_seconds
        while self.exit_code is None and time.monotonic() < deadline and not at_once():
            time.sleep(0.02)
        if self.exit_code is None:
            log.warning("%s did not stop in time; killing it", self.name)
        self._kill_group()
        self._process.wait()

    def _start(self) -> None:
        self._process = spawn(self._command, self._environment)
        self._started_at = time.monotonic()
        self._restart_at: float | None = None

    def _note_death(self, now: float) -> None:
        if now - self._started_at >= STEADY_AFTER_SECONDS:
            self._delay_seconds = FIRST_DELAY_SECONDS
        log.warning(
            "%s ended (%s); restarting it in %.1f s",
            self.name,
            describe_exit(self.exit_code),
            self._delay_seconds,
        )
        # Otherwise children of a dead worker would go on computing beside the new one.
        self._kill_group()
        self._restart_at = now + self._delay_seconds
        self._delay_seconds = min(2 * self._delay_seconds, MAX_DELAY_SECONDS)

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def describe_exit(exit_code: int | None) -> str:
    """Return a text such as `exit code 3` or `SIGKILL`."""
    if exit_code is not None and exit_code < 0:
        return signal.Signals(-exit_code).name
    return f"exit code {exit_code}"
