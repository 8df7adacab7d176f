"""Numbers of all processes that share a state folder, those that have ended included.

Each process has a file of its own (`app.telemetry.counts`). The file of a process that has ended is added to the file
`ended.json` and then removed, so that the number of files does not grow with restarts.
"""

import fcntl
import json
import logging
import os
import struct
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from app.telemetry.counts import SUFFIX, CellKey, ProcessCounts, new_name, read_cells

log = logging.getLogger(__name__)

Totals = dict[CellKey, float]

_ENDED = "ended.json"


@dataclass
class _Ended:
    """Sums over processes that have ended.

    removable: files that are in the sums and should have been removed. added: files that were added just now.
    """

    cells: Totals
    removable: list[str]
    added: list[str] = field(default_factory=list)


class CountFolder:
    """Folder with the files of all processes."""

    def __init__(self, folder: Path, gauges: Collection[str]) -> None:
        """gauges: metrics that describe a living process and end with it."""
        self._folder, self._gauges = folder, frozenset(gauges)

    def open_own(self) -> ProcessCounts:
        """Return the cells of this process. On a disk without space they are in memory only."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._locked():
                return ProcessCounts(self._folder / new_name())
        except OSError as error:
            log.warning("the metrics of this process are not shared with others: %s", type(error).__name__)
            return ProcessCounts()

    def totals(self) -> Totals:
        """Return the sums over all processes. Costs as much as there are living processes."""
        with self._locked():
            ended = self._read_ended()
            living = Totals()
            for path in self._files(ended):
                # Asked before the file is read: a process may count until its end.
                if _has_ended(path):
                    _add(ended.cells, self._lasting(_cells(path)))
                    ended.added.append(path.name)
                else:
                    _add(living, _cells(path))
            if ended.added or ended.removable:
                self._store(ended)
        totals = dict(ended.cells)
        _add(totals, living)
        return totals

    def _files(self, ended: "_Ended") -> list[Path]:
        """Return the files that count, oldest first."""
        files = (path for path in self._folder.glob(f"*{SUFFIX}") if path.name not in ended.removable)
        return sorted(files, key=lambda path: (path.stat().st_ctime_ns, path.name))

    def _lasting(self, cells: Totals) -> Totals:
        return {key: value for key, value in cells.items() if key.metric not in self._gauges}

    def _read_ended(self) -> "_Ended":
        try:
            stored = json.loads((self._folder / _ENDED).read_bytes())
            cells = {CellKey.from_text(text): value for text, value in stored["cells"].items()}
            return _Ended(cells, stored["files"])
        except FileNotFoundError:
            return _Ended({}, [])
        except (ValueError, KeyError, TypeError):
            log.warning("the metrics of ended processes cannot be read; they begin again at 0")
            return _Ended({}, [])

    def _store(self, ended: "_Ended") -> None:
        """Replace the sums, then remove the files that are in them. If that is cut short, the next call goes on."""
        cells = {key.text(): value for key, value in ended.cells.items()}
        new = self._folder / f"{_ENDED}.new"
        try:
            for name in ended.removable:
                (self._folder / name).unlink(missing_ok=True)
            new.write_text(json.dumps({"cells": cells, "files": ended.added}))
            new.replace(self._folder / _ENDED)
            for name in ended.added:
                (self._folder / name).unlink(missing_ok=True)
        except OSError as error:
            log.warning("the metrics of ended processes could not be added up: %s", type(error).__name__)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _add(totals: Totals, cells: Totals) -> None:
    for key, value in cells.items():
        totals[key] = totals.get(key, 0.0) + value


def _cells(path: Path) -> Totals:
    try:
        return read_cells(path)
    except (ValueError, RuntimeError, struct.error):
        log.warning("the metrics of a process cannot be read; they are left out")
        return {}


def _has_ended(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
