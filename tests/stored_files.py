"""Files that tests put into stores and take out of them, without rows."""

from collections.abc import Callable
from pathlib import Path

from app.storage.content_store import ContentStore, StagedFile
from app.storage.file_store import FileStore


def put(store: ContentStore, write: Callable[[Path], object]) -> StagedFile:
    """Store the file that `write` writes to the path it is given."""
    file = store.stage(write)
    file.publish()
    file.discard()
    return file


def remove(store: FileStore, key: str) -> None:
    """Delete a file of a store."""
    with store.discarding() as discarded:
        store.withdraw(key, discarded)
