"""Numbers of one process that survive it: cells in a file that is mapped into memory.

A cell that changes costs a microsecond and no system call. The operating system keeps what was written when the
process is killed, so that no count is lost.
"""

import fcntl
import json
import os
import threading
import uuid
from pathlib import Path
from typing import NamedTuple

from prometheus_client.mmap_dict import MmapedDict

SUFFIX = ".counts"
#: Written in full when the file is made: a write to a mapped page for which the disk has no room ends the process.
FILE_BYTES = 1024**2
#: Bytes of a cell beside its key: the length, the padding, the value and its time.
_CELL_BYTES = 32


class CellKey(NamedTuple):
    """Name of a cell. part: "" for counters and gauges; of histograms, "sum" or the number of a bucket."""

    metric: str
    labels: tuple[str, ...] = ()
    part: str = ""

    def text(self) -> str:
        return json.dumps([self.metric, self.labels, self.part])

    @classmethod
    def from_text(cls, text: str) -> "CellKey":
        metric, labels, part = json.loads(text)
        return cls(metric, tuple(labels), part)


class Cell:
    """Number that threads may change at the same time."""

    __slots__ = ("_file", "_lock", "_text", "value")

    def __init__(self, text: str, file: MmapedDict | None) -> None:
        self._text, self._file, self._lock = text, file, threading.Lock()
        self.value = 0.0

    def add(self, amount: float = 1.0) -> None:
        with self._lock:
            self.value += amount
            if self._file is not None:
                self._file.write_value(self._text, self.value, 0.0)

    def leave_file(self) -> None:
        with self._lock:
            self._file = None


class ProcessCounts:
    """Cells of one process."""

    def __init__(self, path: Path | None = None) -> None:
        """path: new file, or None to keep the cells in memory only."""
        self._path = path
        self._lock = threading.Lock()
        self._cells: dict[CellKey, Cell] = {}
        self._file: MmapedDict | None = None
        self._life: int | None = None
        self._free_bytes = FILE_BYTES - 8
        if path is not None:
            self._open(path)

    def _open(self, path: Path) -> None:
        self._life = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        # Held as long as the process lives, however it ends; so others can tell whether it does.
        fcntl.flock(self._life, fcntl.LOCK_EX)
        os.write(self._life, bytes(FILE_BYTES))
        self._file = MmapedDict(str(path))

    def cell(self, key: CellKey) -> Cell:
        """Return the cell of this key, which is made at the first call."""
        cell = self._cells.get(key)
        if cell is not None:
            return cell
        with self._lock:
            return self._cells.get(key) or self._new_cell(key)

    def _new_cell(self, key: CellKey) -> Cell:
        text = key.text()
        self._free_bytes -= len(text.encode()) + _CELL_BYTES
        cell = Cell(text, self._file if self._free_bytes > 0 else None)
        # Makes room in the file now, because two cells must not do so at the same time.
        cell.add(0.0)
        self._cells[key] = cell
        return cell

    def in_memory(self) -> dict[CellKey, float]:
        """Return the cells of a process that has no file; nothing if it has one."""
        if self._path is not None:
            return {}
        with self._lock:
            return {key: cell.value for key, cell in self._cells.items()}

    def close(self) -> None:
        """Give up the file, which remains. Its cells are counted as those of a process that has ended."""
        with self._lock:
            for cell in self._cells.values():
                cell.leave_file()
        if self._file is not None and self._life is not None:
            self._file.close()
            os.close(self._life)
            self._file, self._life = None, None


def read_cells(path: Path) -> dict[CellKey, float]:
    """Return the cells of a file, also while its process changes them.

    Raises:
        ValueError, RuntimeError: the file is damaged, for example because the machine lost its power.
    """
    values = MmapedDict.read_all_values_from_file(str(path))
    return {CellKey.from_text(text): value for text, value, _, _ in values}


def new_name() -> str:
    return f"{uuid.uuid4().hex}{SUFFIX}"
