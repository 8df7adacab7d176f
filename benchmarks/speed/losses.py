"""Fit times of our forests with other losses, relative to the Gini loss."""

from collections.abc import Iterator

from benchmarks.data import Table
from benchmarks.report import Row, Target, seconds
from benchmarks.settings import Settings, Unsupported, skip
from benchmarks.speed.contenders import forest_with_loss, nodes_per_tree
from benchmarks.speed.timing import TimedFit, time_alternately

KINDS = ("ne", "gce", "entropy", "credal")
TARGET = Target(1.6, 1.3, is_least=False)


def compare(name: str, kind: str, table: Table, settings: Settings) -> Row:
    """Compare our forest with the loss to our forest with Gini. Raises Unsupported."""
    ours = TimedFit(forest_with_loss(settings, kind), table)
    gini = TimedFit(forest_with_loss(settings, "gini"), table)
    # In this order, `speedups` is the time with the loss over the time with Gini.
    times = time_alternately(gini, ours, settings.repeats)
    note = f"accuracy {ours.accuracy():.2f} / {gini.accuracy():.2f} %; nodes per tree "
    note += f"{nodes_per_tree(ours.estimator):.0f} / {nodes_per_tree(gini.estimator):.0f}"
    return Row(name, seconds(times.theirs), f"our gini: {seconds(times.ours)}", times.speedups, TARGET, note)


def rows(settings: Settings) -> Iterator[Row]:
    for table in settings.tables():
        for kind in KINDS:
            name = f"loss: forest, {kind}, {table.name}"
            try:
                yield compare(name, kind, table, settings)
            except Unsupported as error:
                skip(name, error)
