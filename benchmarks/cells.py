"""Measured cells in JSON-lines files: a cell is appended when it is measured, and is not measured again.

An interrupted benchmark continues where it was stopped. Each line has the fields of the key, the measured values, and
the processor seconds, the version of Bristlecone and the date of the measurement.
"""

import datetime
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO

from benchmarks.data import CHECKOUT, MissingData
from benchmarks.settings import Unsupported, skip

Cell = dict[str, Any]
Key = tuple[Any, ...]

#: Errors for which a cell is omitted: data, features of `core` or optional packages are missing.
OMITTED = (MissingData, Unsupported, ModuleNotFoundError)
BAR_WIDTH = 30


def default_path(name: str) -> Path:
    """Return the file of the cells of a benchmark, in the folder of the service's state, which Git ignores."""
    return CHECKOUT / "var" / "benchmarks" / f"{name}.jsonl"


class CellFile:
    """JSON-lines file of cells; the values of `key_names` identify a cell."""

    def __init__(self, path: Path, key_names: tuple[str, ...]) -> None:
        self._path, self._key_names = path, key_names

    def cells(self) -> list[Cell]:
        """Return the measured cells in the order of measurement."""
        # The part after the last newline is a line that an interrupted process did not finish.
        lines = self._path.read_text().split("\n")[:-1] if self._path.exists() else []
        return [json.loads(line) for line in lines]

    def by_key(self) -> dict[Key, Cell]:
        """Return the measured cells by the values of the key."""
        return {tuple(cell[name] for name in self._key_names): cell for cell in self.cells()}

    def fill(self, keys: Iterable[Key], measure: Callable[..., Mapping[str, Any]], title: str = "") -> None:
        """Measure and append the cells that the file lacks; `measure` receives the values of the key.

        A cell whose data, feature or package is missing is reported and omitted. The key consists of numbers and
        strings, which JSON returns unchanged.
        """
        known = self.by_key()
        missing = [key for key in keys if key not in known]
        progress = Progress(len(missing), title)
        for key in missing:
            name = ", ".join(map(str, key))
            begin = time.process_time()
            try:
                values = measure(*key)
            except OMITTED as error:
                skip(name, error)
            else:
                self._append(key, values, time.process_time() - begin)
            progress.advance(name)

    def _append(self, key: Key, values: Mapping[str, Any], cpu_seconds: float) -> None:
        measurement = {
            "cpu_seconds": round(cpu_seconds, 3),
            "version": version("bristlecone"),
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        }
        cell = {**dict(zip(self._key_names, key, strict=True)), **values, **measurement}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._drop_unfinished_line()
        with self._path.open("a") as file:
            file.write(json.dumps(cell) + "\n")

    def _drop_unfinished_line(self) -> None:
        if self._path.exists():
            content = self._path.read_bytes()
            if not content.endswith(b"\n"):
                self._path.write_bytes(content[: content.rfind(b"\n") + 1])


class Progress:
    """Progress bar on standard error; one line per step if that is not a terminal."""

    def __init__(self, n_steps: int, title: str = "", stream: TextIO | None = None) -> None:
        self._n_steps, self._title = n_steps, title
        self._stream = stream or sys.stderr
        self._done = 0
        self._begin = time.monotonic()

    def advance(self, step: str) -> None:
        """Report that a step is complete."""
        self._done += 1
        text = f"{self._title} {self._done}/{self._n_steps}, {self._remaining()}: {step}".strip()
        if self._stream.isatty():
            filled = BAR_WIDTH * self._done // self._n_steps
            end = "\n" if self._done == self._n_steps else ""
            # "\x1b[K" erases the rest of a longer line.
            self._stream.write(f"\r[{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {text}\x1b[K{end}")
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def _remaining(self) -> str:
        per_step = (time.monotonic() - self._begin) / self._done
        return f"{per_step * (self._n_steps - self._done) / 60:.0f} min left"
