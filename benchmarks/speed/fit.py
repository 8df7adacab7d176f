"""Fit times and accuracies of forests, trees and extra trees against scikit-learn's."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.data import Table
from benchmarks.report import Row, Target, seconds
from benchmarks.settings import Settings, Unsupported, skip
from benchmarks.speed.contenders import Pair, extra_trees, forests, nodes_per_tree, trees
from benchmarks.speed.timing import TimedFit, time_alternately

NOISE_RATE = 0.4
MAX_ACCURACY_LOSS = 0.5  # percentage points


class Workload(NamedTuple):
    """Fit on one table or on all of them."""

    name: str
    pair: Callable[[Settings, str], Pair]
    criterion: str
    target: Target
    noise: float = 0.0
    checks_accuracy: bool = False
    tables: tuple[int, ...] = (0, 1)  # covertype, MNIST


WORKLOADS = (
    Workload("forest, gini", forests, "gini", Target(3.0, 5.0), checks_accuracy=True),
    Workload("forest, gini, 40 % noise", forests, "gini", Target(2.5, 4.0), noise=NOISE_RATE),
    Workload("tree, gini", trees, "gini", Target(5.0, 8.0)),
    Workload("tree, entropy", trees, "entropy", Target(5.0, 8.0)),
    Workload("extra trees, gini", extra_trees, "gini", Target(2.5, 4.0), tables=(0,)),
)


def compare(name: str, workload: Workload, pair: Pair, table: Table, repeats: int) -> Row:
    """Measure the times and the accuracies of both estimators."""
    ours, theirs = TimedFit(pair.ours, table), TimedFit(pair.theirs, table)
    times = time_alternately(ours, theirs, repeats)
    accuracy, their_accuracy = ours.accuracy(), theirs.accuracy()
    too_low = workload.checks_accuracy and accuracy < their_accuracy - MAX_ACCURACY_LOSS
    return Row(
        name,
        seconds(times.ours),
        seconds(times.theirs),
        times.speedups,
        workload.target,
        note=f"accuracy {accuracy:.2f} / {their_accuracy:.2f} %; nodes per tree "
        f"{nodes_per_tree(ours.estimator):.0f} / {nodes_per_tree(theirs.estimator):.0f}",
        failed_condition=f"accuracy is {their_accuracy - accuracy:.2f} points lower" if too_low else "",
    )


def rows(settings: Settings) -> Iterator[Row]:
    for workload in WORKLOADS:
        for table in [settings.tables()[i] for i in workload.tables]:
            name = f"fit: {workload.name}, {table.name}"
            try:
                pair = workload.pair(settings, workload.criterion)
            except Unsupported as error:
                skip(name, error)
                continue
            yield compare(name, workload, pair, table.with_noise(workload.noise), settings.repeats)
