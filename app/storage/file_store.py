"""Folders of files that never change, each named after a SHA-256."""

import errno
import os
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from app.storage.disk_space import DiskSpace
from app.storage.staging import DISCARDED_SUFFIX, staged_path
from app.storage.write_transactions import refuse_in_transaction

_SHA256 = re.compile(r"[0-9a-f]{64}")
#: Answers of file systems without hard links, and of those that allow no more of them.
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class FileStore:
    """Folder of finished files and a staging folder for unfinished ones.

    Both must be on the same file system, so that a file is moved into place in one atomic step. A subclass defines
    which SHA-256 is the key of a file.
    """

    suffix: ClassVar[str]

    def __init__(self, folder: Path, staging: Path, min_free_bytes: int = 0) -> None:
        """min_free_bytes: free space of the file system below which no file is staged."""
        self._folder = folder
        self._staging = staging
        self.space = DiskSpace(staging, min_free_bytes)

    @contextmanager
    def staged(self) -> Iterator[Path]:
        """Yield a new path in the staging folder. A file that is still there at the end of the block is removed.

        Raises StorageFull if too little disk space is free.
        """
        refuse_in_transaction("writing a file")
        self.space.require()
        with staged_path(self._staging, self._folder.name, self.suffix) as path:
            yield path

    def publish(self, staged: Path, key: str) -> None:
        """Put a finished file into place and force that to disk. A file that has the key already is replaced.

        The staged file stays where the file system has hard links, so that a transaction whose commit failed can be
        repeated; another one may have deleted the published file meanwhile.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        link = staged.with_name(f"{staged.name}.link")
        link.unlink(missing_ok=True)
        try:
            os.link(staged, link)
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            link = staged
        os.replace(link, self._file(key))
        self._sync_folder()

    def holds(self, key: str) -> bool:
        """Return whether the store has the file."""
        return self._file(key).is_file()

    def files(self) -> Iterator[tuple[str, float]]:
        """Yield the key of each file and when it was written, in seconds since 1970."""
        for path in self._folder.glob(f"*{self.suffix}"):
            # Another process may delete files meanwhile. Files with other names do not belong to the store.
            with suppress(FileNotFoundError):
                if _SHA256.fullmatch(path.stem):
                    yield path.stem, path.stat().st_mtime

    @contextmanager
    def discarding(self) -> Iterator[Path]:
        """Yield a path for `withdraw`. The file there is deleted at the end of the block, after the transaction.

        It takes no disk space, so that files can be deleted when there is none left.
        """
        path = self._staging / f"{self._folder.name}-{uuid.uuid4().hex}{DISCARDED_SUFFIX}"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def withdraw(self, key: str, discarded: Path, older_than_seconds: float = 0.0) -> bool:
        """Move the file to a path of `discarding`, unless it was written less than `older_than_seconds` ago.

        Return whether the store no longer has it. A missing file is not an error. The caller must know that nothing
        refers to the file. Moving takes no time, unlike deleting a large file.
        """
        file = self._file(key)
        with suppress(FileNotFoundError):
            # Without a minimum age the clock is not read, so that a clock that was set back cannot keep the file.
            if older_than_seconds > 0 and time.time() - file.stat().st_mtime < older_than_seconds:
                return False
            os.replace(file, discarded)
            self._sync_folder()
        return True

    def _file(self, key: str) -> Path:
        if not _SHA256.fullmatch(key):
            raise ValueError(f"not a SHA-256 in lower-case hexadecimal digits: {key!r}")
        return self._folder / f"{key}{self.suffix}"

    def _sync_folder(self) -> None:
        # A rename or a deletion survives a power cut only once the folder itself is on disk.
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
