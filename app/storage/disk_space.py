"""Free disk space: how much is kept free, and which errors mean that there is none left."""

import errno
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from app.errors import StorageFull

_FULL = {errno.ENOSPC, errno.EDQUOT}
#: SQLSTATE of PostgreSQL for a disk that is full.
_DISK_FULL = "53100"
_PRIMARY_CODE = 0xFF


@dataclass(frozen=True)
class DiskSpace:
    """File system of a folder, on which `min_free_bytes` are kept free for the database and the broker."""

    folder: Path
    min_free_bytes: int

    def require(self, n_bytes: int = 0) -> None:
        """Raise StorageFull if less than `min_free_bytes` would be free after `n_bytes` more were stored."""
        status = os.statvfs(self.folder)
        n_free = status.f_bavail * status.f_frsize
        if n_free - n_bytes < self.min_free_bytes:
            more = f" and {n_bytes} more would be stored" if n_bytes else ""
            raise StorageFull(
                f"{n_free} bytes of disk space are free{more}; {self.min_free_bytes} are kept free (limit "
                "BRISTLECONE_MIN_FREE_BYTES). Nothing was stored; free some space, and send the request again."
            )


def is_full(error: BaseException | None) -> bool:
    """Return whether the error, or one that it was raised from, means that the disk or a quota is full."""
    while error is not None:
        if isinstance(error, StorageFull) or (isinstance(error, OSError) and error.errno in _FULL):
            return True
        # Errors of SQLAlchemy keep that of the driver. SQLAlchemy is not imported, because the reader of uploads, which
        # has no database, uses this module as well.
        if _is_full_database(getattr(error, "orig", error)):
            return True
        error = error.__cause__
    return False


def _is_full_database(error: BaseException | None) -> bool:
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)
        return code is not None and code & _PRIMARY_CODE == sqlite3.SQLITE_FULL
    return getattr(error, "sqlstate", None) == _DISK_FULL
