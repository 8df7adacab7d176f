"""Progress bar of a job at a terminal."""

import sys
from collections.abc import Mapping
from typing import Any, Protocol, TextIO

_WIDTH = 30


class Progress(Protocol):
    """Display of the progress of a job; `show` gets the job each time it has changed."""

    def show(self, job: Mapping[str, Any]) -> None: ...

    def close(self) -> None: ...


class NoProgress:
    """Shows nothing."""

    def show(self, job: Mapping[str, Any]) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class ProgressBar:
    """One line that is drawn anew, for example `train |#########         | 41 % growing 41/100 trees, 3 s left`."""

    def __init__(self, output: TextIO) -> None:
        self._output, self._length = output, 0

    def show(self, job: Mapping[str, Any]) -> None:
        line = line_of(job)
        self._output.write("\r" + line.ljust(self._length))
        self._output.flush()
        self._length = len(line)

    def close(self) -> None:
        if self._length:
            self._output.write("\n")


def line_of(job: Mapping[str, Any]) -> str:
    """Return the line of a job."""
    progress = job["progress"]
    fraction = 1.0 if job["state"] == "succeeded" else progress["fraction"]
    bar = ("#" * round(_WIDTH * fraction)).ljust(_WIDTH)
    parts = [f"{job['kind']} |{bar}| {fraction:4.0%}", str(progress["phase"])]
    if progress["total"]:
        parts.append(f"{progress['completed']}/{progress['total']} {progress['unit']}")
    line = " ".join(parts)
    return f"{line}, {progress['eta_seconds']:.0f} s left" if progress["eta_seconds"] else line


def chosen(show: bool | None) -> Progress:
    """Return the progress bar for `progress=`: None means where people see it, at a terminal."""
    visible = sys.stderr.isatty() if show is None else show
    return ProgressBar(sys.stderr) if visible else NoProgress()
