"""Record of the threads that have a write transaction open, in which nothing slow may run: see `app.storage.database`.

It is a module of its own for code that may run without a database.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Thread(threading.local):
    is_writing = False


_thread = _Thread()


@contextmanager
def marked_as_writing() -> Iterator[None]:
    """Let `refuse_in_transaction` raise in this thread during the block."""
    _thread.is_writing = True
    try:
        yield
    finally:
        _thread.is_writing = False


def refuse_in_transaction(work: str) -> None:
    """Raise RuntimeError if this thread has a write transaction open.

    work: noun phrase for what is about to run, which can be slow.
    """
    if _thread.is_writing:
        raise RuntimeError(f"{work} inside a write transaction, which keeps all others waiting; do it before or after")
