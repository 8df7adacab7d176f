"""Log lines on standard error, each with the request or job that it belongs to."""

import logging
import time
from contextvars import ContextVar
from typing import Any

#: Request or job of the running code; "-" if there is none.
correlation: ContextVar[str] = ContextVar("correlation", default="-")

#: Of the server library, for one connection each.
CONNECTION_LOGGER = "uvicorn.error.connections"

#: Characters that end a line for some reader or steer a terminal. Text of clients must not do so.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)}
_CONTROLS_IN_TRACES = {code: text for code, text in _CONTROLS.items() if chr(code) not in "\t\n"}


class _Formatter(logging.Formatter):
    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self, form: str) -> None:
        super().__init__(form)
        self._second, self._second_text = -1, ""

    def format(self, record: logging.LogRecord) -> str:
        record.correlation = correlation.get()
        return super().format(record)

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """Return the time. The text of a second is kept, because requests make many lines in it."""
        second = int(record.created)
        if second != self._second:
            text = time.strftime(self.default_time_format, self.converter(second))
            self._second_text, self._second = text, second
        return self.default_msec_format % (self._second_text, record.msecs)

    def formatMessage(self, record: logging.LogRecord) -> str:
        return super().formatMessage(record).rstrip().translate(_CONTROLS)

    def formatException(self, ei: Any) -> str:
        """Return the trace with all lines indented, so that none can pass for a line of the log."""
        return "    " + super().formatException(ei).translate(_CONTROLS_IN_TRACES).replace("\n", "\n    ")


def configure_logging(level: int = logging.INFO) -> None:
    """Send all logs to standard error. Handlers that libraries have installed are removed."""
    # Values of each line that no line shows.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter("%(asctime)s %(levelname)s %(name)s [%(correlation)s] %(message)s"))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in ("uvicorn", "uvicorn.error", "celery", "alembic"):
        library = logging.getLogger(name)
        library.handlers.clear()
        library.propagate = True
    # uvicorn logs each request with its query string as soon as this logger has a handler.
    access = logging.getLogger("uvicorn.access")
    access.handlers.clear()
    access.propagate = False
    logging.getLogger(CONNECTION_LOGGER).setLevel(logging.ERROR)
    # Jobs report the compilation of kernels as a phase of their progress.
    logging.getLogger("core.compilation").setLevel(logging.ERROR)
    # These lines say nothing about the job, which has log lines of its own.
    for name in ("alembic.runtime.plugins", "celery.app.trace", "celery.worker.strategy"):
        logging.getLogger(name).setLevel(logging.WARNING)
