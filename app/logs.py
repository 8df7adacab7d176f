"""One line per event on standard error, with the request or job it belongs to."""

import logging
import time
from contextvars import ContextVar

#: The request or job that the running code works for; "-" outside of both.
correlation: ContextVar[str] = ContextVar("correlation", default="-")


class _Formatter(logging.Formatter):
    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        record.correlation = correlation.get()
        return super().format(record)


def configure_logging(level: int = logging.INFO) -> None:
    """Send everything to standard error; libraries that set up handlers of their own are made to propagate."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter("%(asctime)s %(levelname)s %(name)s [%(correlation)s] %(message)s"))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in ("uvicorn", "uvicorn.error", "celery", "alembic"):
        library = logging.getLogger(name)
        library.handlers.clear()
        library.propagate = True
    # uvicorn writes its own line for each request, query string included, as soon as anybody listens to this logger.
    access = logging.getLogger("uvicorn.access")
    access.handlers.clear()
    access.propagate = False
    # A task that ran says nothing about its job, which has lines of its own.
    for name in ("alembic.runtime.plugins", "celery.app.trace", "celery.worker.strategy"):
        logging.getLogger(name).setLevel(logging.WARNING)
