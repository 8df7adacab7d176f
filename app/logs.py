"""Log lines on standard error, each with the request or job that it belongs to."""

import logging
import time
from contextvars import ContextVar

#: Request or job of the running code; "-" if there is none.
correlation: ContextVar[str] = ContextVar("correlation", default="-")


class _Formatter(logging.Formatter):
    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        record.correlation = correlation.get()
        return super().format(record)


def configure_logging(level: int = logging.INFO) -> None:
    """Send all logs to standard error. Handlers that libraries have installed are removed."""
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
    # Jobs report the compilation of kernels as a phase of their progress.
    logging.getLogger("core.compilation").setLevel(logging.ERROR)
    # These lines say nothing about the job, which has log lines of its own.
    for name in ("alembic.runtime.plugins", "celery.app.trace", "celery.worker.strategy"):
        logging.getLogger(name).setLevel(logging.WARNING)
