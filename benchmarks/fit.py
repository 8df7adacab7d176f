"""Fit times of forests, trees and extra trees beside scikit-learn's, with the accuracies."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.contenders import Pair, extra_trees, forests, nodes_per_tree, trees
from benchmarks.data import Table
from benchmarks.report import Row, Target, seconds
from benchmarks.settings import Absent, Settings, skip
from benchmarks.timing import TimedFit, in_turns

NOISE_RATE = 0.4
MOST_POINTS_BELOW = 0.5  # of accuracy, where a row demands it


class Work(NamedTuple):
    """One kind of fit, on one table or on all of them."""

    name: str
    pair: Callable[[Settings, str], Pair]
    criterion: str
    target: Target
    noise: float = 0.0
    holds_accuracy: bool = False
    tables: tuple[int, ...] = (0, 1)  # covertype, MNIST


WORKS = (
    Work("forest, gini", forests, "gini", Target(3.0, 5.0), holds_accuracy=True),
    Work("forest, gini, 40 % noise", forests, "gini", Target(2.5, 4.0), noise=NOISE_RATE),
    Work("tree, gini", trees, "gini", Target(5.0, 8.0)),
    Work("tree, entropy", trees, "entropy", Target(5.0, 8.0)),
    Work("extra trees, gini", extra_trees, "gini", Target(2.5, 4.0), tables=(0,)),
)


def compared(name: str, work: Work, pair: Pair, table: Table, repeats: int) -> Row:
    """Time both, score both."""
    ours, theirs = TimedFit(pair.ours, table), TimedFit(pair.theirs, table)
    times = in_turns(ours, theirs, repeats)
    right, their_right = ours.accuracy(), theirs.accuracy()
    too_low = work.holds_accuracy and right < their_right - MOST_POINTS_BELOW
    return Row(
        name,
        seconds(times.ours),
        seconds(times.theirs),
        times.speedups,
        work.target,
        note=f"accuracy {right:.2f} / {their_right:.2f} %; nodes a tree "
        f"{nodes_per_tree(ours.estimator):.0f} / {nodes_per_tree(theirs.estimator):.0f}",
        failed_condition=f"accuracy {their_right - right:.2f} points below" if too_low else "",
    )


def rows(settings: Settings) -> Iterator[Row]:
    for work in WORKS:
        for table in [settings.tables()[i] for i in work.tables]:
            name = f"fit: {work.name}, {table.name}"
            try:
                pair = work.pair(settings, work.criterion)
            except Absent as why:
                skip(name, why)
                continue
            yield compared(name, work, pair, table.with_noise(work.noise), settings.repeats)
