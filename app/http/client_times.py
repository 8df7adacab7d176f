"""Times by client, for the limit on requests: of one process, or shared by all API processes of a state folder."""

import hashlib
import logging
import mmap
import os
import struct
from collections import OrderedDict
from collections.abc import Hashable
from pathlib import Path
from typing import Protocol

log = logging.getLogger(__name__)

#: Clients that one process remembers; beyond, the one that has asked for nothing for longest is forgotten.
MAX_CLIENTS = 10_000
#: Buckets and slots of the shared table. A client has one bucket; in a full one, the earliest time is forgotten.
_BUCKETS, _SLOTS = 16_384, 8
_SLOT = struct.Struct("<Qd")
_KEY_BYTES = 16
_BUCKET_BYTES = _SLOTS * _SLOT.size
_FILE_BYTES = _KEY_BYTES + _BUCKETS * _BUCKET_BYTES


class ClientTimes(Protocol):
    """Time of each client that asked for something not long ago."""

    def get(self, client: Hashable) -> float:
        """Return the time of a client, 0 if it is not known."""

    def set(self, client: Hashable, time: float) -> None: ...


class OwnTimes:
    """Times that one process keeps."""

    def __init__(self) -> None:
        self._times: OrderedDict[Hashable, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._times)

    def get(self, client: Hashable) -> float:
        return self._times.get(client, 0.0)

    def set(self, client: Hashable, time: float) -> None:
        self._times[client] = time
        self._times.move_to_end(client)
        if len(self._times) > MAX_CLIENTS:
            self._times.popitem(last=False)


class SharedTimes:
    """Times in a file that all API processes map into memory.

    Nothing is locked, because a process that is stopped would hold up all others. Two processes that count a request of
    the same client within the same microsecond may count one.
    """

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            # Written in full: a write to a mapped page for which the disk has no room ends the process. The first
            # process decides on the secret that spreads clients over buckets.
            if os.fstat(descriptor).st_size != _FILE_BYTES:
                os.pwrite(descriptor, os.urandom(_KEY_BYTES) + bytes(_FILE_BYTES - _KEY_BYTES), 0)
            self._memory = mmap.mmap(descriptor, _FILE_BYTES)
        finally:
            os.close(descriptor)

    def get(self, client: Hashable) -> float:
        number, position = self._place(client)
        return next((time for known, time, _ in self._bucket(position) if known == number), 0.0)

    def set(self, client: Hashable, time: float) -> None:
        number, position = self._place(client)
        slots = list(self._bucket(position))
        own = next((slot for known, _, slot in slots if known == number), None)
        slot = min(slots, key=lambda slot: slot[1])[2] if own is None else own
        self._memory[slot : slot + _SLOT.size] = _SLOT.pack(number, time)

    def _place(self, client: Hashable) -> tuple[int, int]:
        digest = hashlib.blake2b(str(client).encode(), key=self._memory[:_KEY_BYTES], digest_size=8).digest()
        number = int.from_bytes(digest, "little")
        return number, _KEY_BYTES + number % _BUCKETS * _BUCKET_BYTES

    def _bucket(self, position: int) -> list[tuple[int, float, int]]:
        """Return number and time of each slot of a bucket, with its position."""
        slots = _SLOT.iter_unpack(self._memory[position : position + _BUCKET_BYTES])
        return [(number, time, position + at * _SLOT.size) for at, (number, time) in enumerate(slots)]


def shared_times(path: Path) -> ClientTimes:
    """Return the times of all API processes that use this file, or those of this process if it cannot be made."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return SharedTimes(path)
    except OSError as error:
        log.warning("each API process counts requests by itself: %s", type(error).__name__)
        return OwnTimes()
