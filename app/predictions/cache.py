"""Trained models that are open for predictions, the most recently used first, up to a number of bytes."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")

DEFAULT_MAX_BYTES = 1024**3


@dataclass(frozen=True)
class _Entry(Generic[T]):
    future: Future[T]
    size_bytes: int


class LeastRecentlyUsed(Generic[T]):
    """Thread-safe. Each key is loaded by one thread while the others wait for it; other keys are not held up.

    What was used last stays even when it alone passes `max_bytes`.
    """

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = Lock()
        self._entries: OrderedDict[Hashable, _Entry[T]] = OrderedDict()
        self._held_bytes = 0

    @property
    def held_bytes(self) -> int:
        return self._held_bytes

    def get(self, key: Hashable, size_bytes: int, load: Callable[[], T]) -> T:
        """What `load` returns, from memory when it is there. A failed load raises and is not remembered."""
        with self._lock:
            entry = self._entries.get(key)
            mine = entry is None
            if entry is None:
                entry = self._entries[key] = _Entry(Future(), size_bytes)
                self._held_bytes += size_bytes
                self._evict()
            self._entries.move_to_end(key)
        if mine:
            self._fill(key, entry, load)
        return entry.future.result()

    def _fill(self, key: Hashable, entry: _Entry[T], load: Callable[[], T]) -> None:
        try:
            entry.future.set_result(load())
        except BaseException as error:
            with self._lock:
                if self._entries.get(key) is entry:
                    self._drop(key)
            entry.future.set_exception(error)

    def _evict(self) -> None:
        while self._held_bytes > self._max_bytes and len(self._entries) > 1:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: Hashable) -> None:
        self._held_bytes -= self._entries.pop(key).size_bytes
