"""Process that forks a child with hard limits for each conversation: what runs there can fail, but harm nobody else.

The server process has imported everything that its children need, and has no threads of its own, so that a child costs
some milliseconds. A conversation consists of lines of JSON, requests and answers in turn. Nothing else passes.
`app.operations.forked_client` is the other end.
"""

import contextlib
import ctypes
import errno
import gc
import json
import logging
import os
import re
import resource
import selectors
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedRWPair
from pathlib import Path
from typing import Any, NoReturn

log = logging.getLogger(__name__)

#: Answers a request. Both are JSON objects.
Handler = Callable[[dict[str, Any]], dict[str, Any]]

_PR_SET_PDEATHSIG = 1
#: When memory runs out, the system ends children first, whose request can be answered nevertheless.
_FIRST_TO_GO = "1000"
#: Exit code of a child that the system did not let begin (EX_TEMPFAIL).
NOT_BEGUN = 75


@dataclass(frozen=True)
class ChildLimits:
    """Hard limits of a child, which the kernel enforces.

    seconds: time from its start to its end. memory_bytes: what it may allocate beside what it is born with; on Linux
    only. file_bytes: size of a file that it writes.
    """

    seconds: float
    memory_bytes: int
    file_bytes: int


@dataclass(frozen=True)
class _Child:
    """Child as the server knows it. status: descriptor to which its exit status is written."""

    pid: int
    status: int


def serve(handle: Handler) -> NoReturn:
    """Serve conversations until the socket that is the standard input is closed."""
    # Ctrl-C reaches the whole group; the client decides when to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.collect()
    # Objects that the collector does not touch stay in pages that all children share.
    gc.freeze()
    with socket.socket(fileno=sys.stdin.fileno()) as control, selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not control:
                    _reap(selector, key)
                elif not _start(selector, control, handle):
                    os._exit(0)


def _start(selector: selectors.BaseSelector, control: socket.socket, handle: Handler) -> bool:
    """Start a child for the next conversation. Return False if there will be none."""
    data, descriptors, _, _ = socket.recv_fds(control, 1, 2)
    if not data:
        return False
    try:
        pid, ended = _fork(selector, control, handle, descriptors)
    except OSError as error:
        # No more processes or files. Both ends are closed, from which the client learns that it has no child.
        log.warning("no child for a conversation: %s", error)
        for descriptor in descriptors:
            os.close(descriptor)
        return True
    conversation, status = descriptors
    # Only the child has it now, so that the client notices its death.
    os.close(conversation)
    selector.register(ended, selectors.EVENT_READ, _Child(pid, status))
    return True


def _fork(
    selector: selectors.BaseSelector, control: socket.socket, handle: Handler, descriptors: list[int]
) -> tuple[int, int]:
    """Return the id of a new child, and a descriptor that can be read when it has ended. Raises OSError."""
    if len(descriptors) < 2:  # The kernel drops those that would be too many.
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    conversation, status = descriptors
    ended, alive = os.pipe()
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        os.close(ended)
        os.close(alive)
        raise
    if pid == 0:
        _run_child(parent, conversation, handle, inherited=[control.fileno(), ended, status, *_descriptors(selector)])
    # Only the child has it now, so that the server notices its death.
    os.close(alive)
    return pid, ended


def _descriptors(selector: selectors.BaseSelector) -> list[int]:
    """Return what the server holds for its other children."""
    others = [(key.fd, key.data.status) for key in selector.get_map().values() if key.data is not None]
    return [descriptor for pair in others for descriptor in pair]


def _reap(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    selector.unregister(key.fileobj)
    os.close(key.fd)
    _, status = os.waitpid(key.data.pid, 0)
    with contextlib.suppress(OSError), open(key.data.status, "wb") as out:
        out.write(b"%d" % os.waitstatus_to_exitcode(status))


def _run_child(parent: int, conversation: int, handle: Handler, inherited: list[int]) -> NoReturn:
    status = 1
    try:
        for descriptor in inherited:
            os.close(descriptor)
        _die_with(parent)
        with socket.socket(fileno=conversation) as connection, connection.makefile("rwb") as lines:
            status = _converse(lines, handle)
    finally:
        # Without the teardown of the interpreter, which is slow and belongs to the server.
        os._exit(status)


def _converse(lines: BufferedRWPair, handle: Handler) -> int:
    """Answer requests until there are no more. Return the exit code."""
    limits = ChildLimits(**json.loads(lines.readline()))
    try:
        _apply(limits)
    except OSError as error:
        log.warning("a child cannot begin: %s", error)
        return NOT_BEGUN
    for line in lines:
        answer = handle(json.loads(line))
        lines.write(json.dumps(answer).encode() + b"\n")
        lines.flush()
    return 0


def _die_with(parent: int) -> None:
    """Have this process killed when its parent dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # If the parent died between fork and prctl, the signal would never come.
        if os.getppid() != parent:
            os._exit(1)


def _apply(limits: ChildLimits) -> None:
    # The default action ends the process, whatever it is doing.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limits.seconds)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    if sys.platform == "linux":
        _lower(resource.RLIMIT_DATA, _data_bytes() + limits.memory_bytes)
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)


def _lower(which: int, limit: int) -> None:
    _, hard = resource.getrlimit(which)
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(which, (limit, limit))


def _data_bytes() -> int:
    """Return the private memory of this process, which the limit of the kernel counts."""
    found = re.search(r"VmData:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None, "Linux reports VmData of every process"
    return 1024 * int(found[1])
