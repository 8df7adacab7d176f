"""Progress of jobs: bars that are redrawn on a terminal, and one line per step elsewhere."""

from collections.abc import Mapping, Sequence
from typing import Any, TextIO

BAR_CELLS = 24
QUARTER = 0.25


class ProgressDisplay:
    """Display of several jobs; `labels` are their names in the order in which `show` receives them."""

    def __init__(self, labels: Sequence[str], out: TextIO) -> None:
        self._labels = labels
        self._width = max(map(len, labels))
        self._out = out
        self._live = out.isatty()
        self._drawn = False
        self._last_steps: dict[str, tuple[str, int]] = {}

    def show(self, jobs: Sequence[Mapping[str, Any]]) -> None:
        if self._live:
            self._redraw(jobs)
        else:
            self._print_changes(jobs)
        self._out.flush()

    def _redraw(self, jobs: Sequence[Mapping[str, Any]]) -> None:
        if self._drawn:
            self._out.write(f"\x1b[{len(jobs)}F")
        for label, job in zip(self._labels, jobs, strict=True):
            self._out.write(f"\x1b[2K  {label:<{self._width}}  {_bar(_fraction(job))}  {_status(job)}\n")
        self._drawn = True

    def _print_changes(self, jobs: Sequence[Mapping[str, Any]]) -> None:
        for label, job in zip(self._labels, jobs, strict=True):
            step = (str(job["state"]), int(_fraction(job) / QUARTER))
            if self._last_steps.get(label) != step:
                self._last_steps[label] = step
                self._out.write(f"  {label:<{self._width}}  {_status(job)}\n")


def _fraction(job: Mapping[str, Any]) -> float:
    if job["state"] == "succeeded":
        return 1.0
    return float((job.get("progress") or {}).get("fraction") or 0.0)


def _bar(fraction: float) -> str:
    full = round(fraction * BAR_CELLS)
    return "█" * full + "░" * (BAR_CELLS - full)


def _status(job: Mapping[str, Any]) -> str:
    progress = job.get("progress") or {}
    if job["state"] != "running" or not progress.get("total"):
        return str(job["state"])
    counted = f"{progress['completed']}/{progress['total']} {progress.get('unit') or ''}".rstrip()
    return f"{_fraction(job):4.0%}  {progress.get('phase') or 'running'} {counted}"
