"""Memory and health checks of a running service while requests hurt it."""

import threading
import time

import psutil

from app.operations.loopback import open_loopback
from app.settings import MEBIBYTE

#: Most memory that the API may take above that of the idle service.
MAX_GROWTH_BYTES = 300 * MEBIBYTE


class Watch:
    """Memory of the API and its children, and the health check, while the block runs."""

    def __init__(self, service):
        self._service = service
        self._api = next(each for each in service.processes("app.cli api"))
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=watch) for watch in (self._watch_memory, self._watch_health)]
        self.n_unanswered = 0
        self.longest_check_seconds = 0.0

    def __enter__(self):
        self._idle_bytes = self._peak_bytes = self._memory()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def __str__(self):
        return f"peak {self.growth_bytes // MEBIBYTE} MiB over idle, health check {self.longest_check_seconds:.2f} s"

    @property
    def growth_bytes(self):
        return self._peak_bytes - self._idle_bytes

    def _memory(self):
        total = 0
        for process in [self._api, *self._api.children(recursive=True)]:
            try:
                # Pages that children share with their parent count once.
                total += process.memory_full_info().pss
            except psutil.Error:
                continue
        return total

    def _watch_memory(self):
        while not self._ended.wait(0.1):
            self._peak_bytes = max(self._peak_bytes, self._memory())

    def _watch_health(self):
        while not self._ended.wait(0.1):
            start = time.monotonic()
            try:
                with open_loopback(f"{self._service.url}/healthz", timeout=60):
                    pass
            except OSError:
                self.n_unanswered += 1
            self.longest_check_seconds = max(self.longest_check_seconds, time.monotonic() - start)
