"""Fit times of our forests with other losses, as multiples of our own with Gini."""

from collections.abc import Iterator

from benchmarks.contenders import forest_of_loss, nodes_per_tree
from benchmarks.data import Table
from benchmarks.report import Row, Target, seconds
from benchmarks.settings import Absent, Settings, skip
from benchmarks.timing import TimedFit, in_turns

KINDS = ("ne", "gce", "entropy", "credal")
TARGET = Target(1.6, 1.3, is_least=False)


def compared(name: str, kind: str, table: Table, settings: Settings) -> Row:
    """The loss against Gini, both ours. Raises Absent."""
    ours = TimedFit(forest_of_loss(settings, kind), table)
    gini = TimedFit(forest_of_loss(settings, "gini"), table)
    times = in_turns(gini, ours, settings.repeats)  # so `speedups` is loss over Gini
    note = f"accuracy {ours.accuracy():.2f} / {gini.accuracy():.2f} %; nodes a tree "
    note += f"{nodes_per_tree(ours.estimator):.0f} / {nodes_per_tree(gini.estimator):.0f}"
    return Row(name, seconds(times.theirs), f"our gini: {seconds(times.ours)}", times.speedups, TARGET, note)


def rows(settings: Settings) -> Iterator[Row]:
    for table in settings.tables():
        for kind in KINDS:
            name = f"loss: forest, {kind}, {table.name}"
            try:
                yield compared(name, kind, table, settings)
            except Absent as why:
                skip(name, why)
