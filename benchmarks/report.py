"""Rows of the report with their targets, as lines of a Markdown table."""

import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple

HEADER = (
    "| workload | ours | theirs | measured: min – median – max | target | stretch goal | met | notes |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |"
)


class Target(NamedTuple):
    """Required value of a median. Ratios have the unit "x", durations "s"."""

    limit: float
    stretch: float | None = None
    is_least: bool = True  # False: smaller is better
    unit: str = "x"

    def reaches(self, value: float, threshold: float) -> bool:
        return value >= threshold if self.is_least else value <= threshold

    def verdict(self, value: float) -> str:
        if self.stretch is not None and self.reaches(value, self.stretch):
            return "stretch"
        return "yes" if self.reaches(value, self.limit) else "NO"

    def text(self, threshold: float | None) -> str:
        if threshold is None:
            return ""
        return f"{'≥' if self.is_least else '≤'} {threshold:g} {self.unit}"


class Row(NamedTuple):
    """Line of the report.

    The median of `values`, one per repeat, is compared with the target. `failed_condition` names another requirement
    that was missed, if any.
    """

    workload: str
    ours: str
    theirs: str
    values: Sequence[float]
    target: Target
    note: str = ""
    failed_condition: str = ""

    def markdown(self) -> str:
        median = statistics.median(self.values)
        spread = " – ".join(f"{value:.3g}" for value in (min(self.values), median, max(self.values)))
        met = f"NO: {self.failed_condition}" if self.failed_condition else self.target.verdict(median)
        cells = (
            self.workload,
            self.ours,
            self.theirs,
            f"{spread} {self.target.unit}",
            self.target.text(self.target.limit),
            self.target.text(self.target.stretch),
            met,
            self.note,
        )
        return f"| {' | '.join(cells)} |"


def seconds(values: Iterable[float]) -> str:
    """Return the median as text, in seconds, milliseconds or microseconds."""
    median = statistics.median(values)
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if median >= size:
            return f"{median / size:.3g} {unit}"
    return f"{median / 1e-6:.3g} µs"
