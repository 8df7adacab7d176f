"""Log lines on standard error, as text or as JSON, each with the request or job that it belongs to."""

import json
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextvars import ContextVar
from enum import StrEnum
from typing import Any, NamedTuple

#: Of the server library, for one connection each.
CONNECTION_LOGGER = "uvicorn.error.connections"

#: Characters that end a line for some reader or steer a terminal. Text of clients must not do so.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)}
_CONTROLS_IN_TRACES = {code: text for code, text in _CONTROLS.items() if chr(code) not in "\t\n"}


class LogFormat(StrEnum):
    """Form of log lines."""

    TEXT = "text"
    JSON = "json"


class Correlation(NamedTuple):
    """Request and job of the running code; of a job, the request is the one that queued it."""

    request_id: str | None = None
    job_id: str | None = None
    attempt: int | None = None
    dataset_id: str | None = None

    def label(self) -> str:
        if self.job_id is None:
            return self.request_id or "-"
        request = f" request {self.request_id}" if self.request_id else ""
        return f"job {self.job_id} attempt {self.attempt}{request}"

    def fields(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if value is not None}


NOTHING = Correlation()
correlation: ContextVar[Correlation] = ContextVar("correlation", default=NOTHING)


class Structured(ABC):
    """Argument of a log line that is a text, and in JSON has fields of its own."""

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def fields(self) -> Mapping[str, Any]: ...


class _Event(Structured):
    """Change that somebody made, with who made it."""

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        self._name, self._fields = name, fields

    def __str__(self) -> str:
        return " ".join((self._name, *(f"{name}={value!r}" for name, value in self._fields.items())))

    def fields(self) -> Mapping[str, Any]:
        return {"event": self._name, **self._fields}


def log_event(log: logging.Logger, event: str, /, **fields: Any) -> None:
    """Log a change after it was committed. fields: never values of features, labels or secrets."""
    log.info("%s", _Event(event, fields))


class _TextFormatter(logging.Formatter):
    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s [%(correlation)s] %(message)s")
        self._second, self._second_text = -1, ""

    def format(self, record: logging.LogRecord) -> str:
        record.correlation = correlation.get().label()
        return super().format(record)

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """Return the time. The text of a second is kept, because requests make many lines in it."""
        second = int(record.created)
        if second != self._second:
            text = time.strftime(self.default_time_format, self.converter(second))
            self._second_text, self._second = text, second
        return self.default_msec_format % (self._second_text, record.msecs)

    def formatMessage(self, record: logging.LogRecord) -> str:
        line = super().formatMessage(record).rstrip()
        # Nearly all lines are plain, and finding that out is much faster than translating them.
        return line if line.isascii() and line.isprintable() else line.translate(_CONTROLS)

    def formatException(self, ei: Any) -> str:
        """Return the trace with all lines indented, so that none can pass for a line of the log."""
        return "    " + super().formatException(ei).translate(_CONTROLS_IN_TRACES).replace("\n", "\n    ")


class _JsonFormatter(_TextFormatter):
    """One object per line. Names of the fields are stable."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage().rstrip(),
            **correlation.get().fields(),
        }
        for argument in record.args if isinstance(record.args, tuple) else ():
            if isinstance(argument, Structured):
                line |= argument.fields()
        if record.exc_info:
            line["exception"] = logging.Formatter.formatException(self, record.exc_info)
        # In ASCII: other characters could end a line for some reader.
        return json.dumps(line, default=str).translate(_CONTROLS)


def configure_logging(log_format: str = LogFormat.TEXT, level: int = logging.INFO) -> None:
    """Send all logs to standard error. Handlers that libraries have installed are removed."""
    # Values of each line that no line shows; the last one is the place in the code, which takes longest to find.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None
    handler = logging.StreamHandler()
    handler.setFormatter(_JsonFormatter() if log_format == LogFormat.JSON else _TextFormatter())
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
