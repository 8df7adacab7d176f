"""One line of the report: what was measured, how it is judged, and how it is written as Markdown."""

import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple

HEADER = (
    "| work | ours | scikit-learn | measured: min – median – max | at least / at most | prize | met | notes |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |"
)


class Target(NamedTuple):
    """What the median is held against. Ratios have the unit "x", durations "s"."""

    limit: float
    prize: float | None = None
    is_least: bool = True  # False: smaller is better
    unit: str = "x"

    def reaches(self, value: float, bar: float) -> bool:
        return value >= bar if self.is_least else value <= bar

    def verdict(self, value: float) -> str:
        if self.prize is not None and self.reaches(value, self.prize):
            return "prize"
        return "yes" if self.reaches(value, self.limit) else "NO"

    def shown(self, bar: float | None) -> str:
        if bar is None:
            return ""
        return f"{'≥' if self.is_least else '≤'} {bar:g} {self.unit}"


class Row(NamedTuple):
    """`measured`, one value a repeat, is judged; `failed_condition` says which other demand was missed, if any."""

    work: str
    ours: str
    theirs: str
    measured: Sequence[float]
    target: Target
    note: str = ""
    failed_condition: str = ""

    def markdown(self) -> str:
        middle = statistics.median(self.measured)
        spread = " – ".join(f"{value:.3g}" for value in (min(self.measured), middle, max(self.measured)))
        met = f"NO: {self.failed_condition}" if self.failed_condition else self.target.verdict(middle)
        cells = (
            self.work,
            self.ours,
            self.theirs,
            f"{spread} {self.target.unit}",
            self.target.shown(self.target.limit),
            self.target.shown(self.target.prize),
            met,
            self.note,
        )
        return f"| {' | '.join(cells)} |"


def seconds(values: Iterable[float]) -> str:
    """The median, in a unit that suits it."""
    middle = statistics.median(values)
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if middle >= size:
            return f"{middle / size:.3g} {unit}"
    return f"{middle / 1e-6:.3g} µs"
