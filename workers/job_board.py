"""Memory that a worker process shares with its lease keeper, about the job that it runs.

The keeper must learn the progress, and kernels must see the stop flag, while a computation holds Python's lock. So both
are in a page of memory instead of messages:

    byte 0    1    2    8        12         16
    stop | reason | body runs | length | checksum | record ...

The record is JSON. Its checksum includes its length: a record that is read while it is written, or that was cut short
when the process was killed, does not agree with it.
"""

import json
import mmap
import struct
import threading
import zlib
from enum import Enum
from typing import Any

import numpy as np


class StopReason(Enum):
    """Reason why a job was asked to stop."""

    CANCEL = "cancellation was requested"
    LEASE_LOST = "this worker no longer owns the job"
    SHUTDOWN = "the worker is shutting down"


_REASONS: tuple[StopReason | None, ...] = (None, *StopReason)
_STOP, _REASON, _RUNS = 0, 1, 2
_HEADER = struct.Struct("<II")
_HEADER_START, _RECORD_START = 8, 16


class JobBoard:
    """Shared page: the process writes that its body runs and the progress, the keeper writes the request to stop."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)
        #: Of threads of the keeper, which alone asks jobs to stop.
        self._stopping = threading.Lock()
        #: (1,), read by kernels; a value other than 0 stops the work.
        self.stop_flag = np.frombuffer(self._memory, dtype=np.uint8, count=1, offset=_STOP)

    def clear(self) -> None:
        """Prepare the page for another job."""
        self._memory[:_RECORD_START] = bytes(_RECORD_START)

    @property
    def stop_reason(self) -> StopReason | None:
        number: int = self._memory[_REASON]
        return _REASONS[number]

    def stop(self, reason: StopReason) -> None:
        """Ask the job to stop; a kernel reads the flag at its next node or feature.

        The first reason is kept, unless the lease is lost: that reason replaces any other, because nothing may be
        written afterwards.
        """
        with self._stopping:
            if self.stop_reason is None or reason is StopReason.LEASE_LOST:
                self._memory[_REASON] = _REASONS.index(reason)
            self._memory[_STOP] = 1

    @property
    def body_runs(self) -> bool:
        """Whether the body of the job is computing; it is not while its outcome is written."""
        return self._memory[_RUNS] != 0

    @body_runs.setter
    def body_runs(self, runs: bool) -> None:
        self._memory[_RUNS] = runs

    def write_progress(self, progress: dict[str, Any]) -> None:
        """Replace the record. One that does not fit on the page is not written."""
        record = json.dumps(progress).encode()
        end = _RECORD_START + len(record)
        if end <= len(self._memory):
            header = _HEADER.pack(len(record), _checksum(record))
            self._memory[_HEADER_START:end] = header + record

    def read_progress(self) -> dict[str, Any] | None:
        """Return the record, or None if there is none or it is being written at this moment."""
        length, checksum = _HEADER.unpack_from(self._memory, _HEADER_START)
        record = self._memory[_RECORD_START : _RECORD_START + length]
        if length == 0 or len(record) != length or _checksum(record) != checksum:
            return None
        progress: dict[str, Any] = json.loads(record)
        return progress


def _checksum(record: bytes) -> int:
    return zlib.crc32(record, len(record))
