"""Log of connections that are refused, which stays short however many a client opens."""

import asyncio
import logging
from collections import Counter

log = logging.getLogger(__name__)

PERIOD_SECONDS = 60.0


class RefusalLog:
    """Lines of one process: the first refusal at once, the number of the next ones once a minute."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._timer: asyncio.TimerHandle | None = None

    def note(self, code: str, loop: asyncio.AbstractEventLoop) -> None:
        """Log or count the refusal of a connection with this error."""
        if self._timer is None:
            log.info("refused a connection: %s", code)
            self._start(loop)
        else:
            self._counts[code] += 1

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(PERIOD_SECONDS, self._report, loop)

    def _report(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        if self._counts:
            counts = ", ".join(f"{code} ({count})" for code, count in self._counts.most_common())
            log.info("refused %d more connections in %g s: %s", self._counts.total(), PERIOD_SECONDS, counts)
            self._counts.clear()
            self._start(loop)
