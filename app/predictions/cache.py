"""Cache of trained models that are in memory for predictions."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

from app.telemetry.instruments import CacheCounts

T = TypeVar("T")


@dataclass
class _Entry(Generic[T]):
    future: Future[T]
    size_bytes: int


class LeastRecentlyUsed(Generic[T]):
    """Thread-safe cache of at most `max_bytes` that evicts the least recently used entries.

    Each key is loaded by one thread; other threads wait for that key only. The entry that was used last stays even if
    it alone exceeds `max_bytes`.
    """

    def __init__(self, max_bytes: int, counts: CacheCounts, measure: Callable[[T], int]) -> None:
        """measure: returns the bytes that an entry holds, once it is loaded."""
        self._max_bytes = max_bytes
        self._counts = counts
        self._measure = measure
        self._lock = Lock()
        self._entries: OrderedDict[Hashable, _Entry[T]] = OrderedDict()
        self._cached_bytes = 0

    @property
    def cached_bytes(self) -> int:
        return self._cached_bytes

    def get(self, key: Hashable, size_bytes: int, load: Callable[[], T]) -> T:
        """Return the cached result of `load`, calling it if there is none. An error is raised and not cached.

        size_bytes: what the entry counts as until it is loaded and measured.
        """
        with self._lock:
            entry = self._entries.get(key)
            is_new = entry is None
            if entry is None:
                entry = self._entries[key] = _Entry(Future(), size_bytes)
                self._add_bytes(size_bytes)
                self._evict()
            self._entries.move_to_end(key)
        if is_new:
            self._counts.misses.add()
            self._fill(key, entry, load)
        else:
            self._counts.hits.add()
        return entry.future.result()

    def loaded(self, key: Hashable) -> T | None:
        """Return the cached result for a key, or None if it is not there or not yet loaded. Never waits for a load."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or not entry.future.done() or entry.future.exception() is not None:
                return None
            self._entries.move_to_end(key)
        self._counts.hits.add()
        return entry.future.result()

    def _fill(self, key: Hashable, entry: _Entry[T], load: Callable[[], T]) -> None:
        try:
            value = load()
            self._resize(key, entry, self._measure(value))
            entry.future.set_result(value)
        except BaseException as error:
            with self._lock:
                if self._entries.get(key) is entry:
                    self._drop(key)
            entry.future.set_exception(error)

    def _resize(self, key: Hashable, entry: _Entry[T], size_bytes: int) -> None:
        with self._lock:
            if self._entries.get(key) is entry:
                self._add_bytes(size_bytes - entry.size_bytes)
                entry.size_bytes = size_bytes
                self._evict()

    def _evict(self) -> None:
        while self._cached_bytes > self._max_bytes and len(self._entries) > 1:
            self._drop(next(iter(self._entries)))
            self._counts.evictions.add()

    def _drop(self, key: Hashable) -> None:
        self._add_bytes(-self._entries.pop(key).size_bytes)

    def _add_bytes(self, n_bytes: int) -> None:
        self._cached_bytes += n_bytes
        self._counts.bytes.add(n_bytes)
