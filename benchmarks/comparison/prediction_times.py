"""Time of predictions by the automatic model over that of one of our forests, on all tables of the comparison.

python -m benchmarks.comparison.prediction_times                   # a few minutes on one core
python -m benchmarks.comparison.prediction_times --tables optdigits wine --noise uniform_0

Both are fitted to one draw of each table, with 100 trees in the forest, and predict with one thread. Each ratio is the
median over the repeats, in which both are measured alternately.
"""

import argparse
import statistics
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

import core
from benchmarks import options
from benchmarks.comparison.collection import Split
from benchmarks.comparison.noise import NOISES, suits
from benchmarks.comparison.table_options import add_tables, chosen_collection, chosen_folder, chosen_tables
from benchmarks.speed.timing import seconds_per_call, time_alternately

#: Number of rows and number of calls whose mean time is one measurement.
CALLS = {"10,000 rows": (10_000, 1), "one row": (1, 200)}
DEFAULT_NOISES = ("uniform_0", "uniform_40")  # with much noise, trees are grown on drawn labels


class Ratios(NamedTuple):
    """Time of the automatic model over that of a forest on one table."""

    table: str
    noise: str
    share: float  # of a regression in the vote
    ratios: list[float]  # (workload,), in the order of CALLS


def measure(name: str, noise: str, split: Split, repeats: int) -> Ratios:
    """Fit both models and time their predictions."""
    parameters: dict[str, Any] = {"categorical_features": split.categorical, "random_state": 0, "n_jobs": 1}
    forest = core.ForestClassifier(**parameters).fit(split.X, split.y)
    automatic = core.AutoClassifier(**parameters).fit(split.X, split.y)
    ridge = automatic.choice_.kernel_ridge
    ratios = [_ratio(forest, automatic, split, *calls, repeats) for calls in CALLS.values()]
    return Ratios(name, noise, ridge.share if ridge else 0.0, ratios)


def _ratio(forest: Any, automatic: Any, split: Split, n_rows: int, n_calls: int, repeats: int) -> float:
    X = np.resize(split.X_test, (n_rows, split.X_test.shape[1]))
    for model in (forest, automatic):
        model.predict_proba(X)

    def of_forest() -> float:
        return seconds_per_call(lambda: forest.predict_proba(X), n_calls)

    def of_automatic() -> float:
        return seconds_per_call(lambda: automatic.predict_proba(X), n_calls)

    # In this order, `speedups` is the time of the automatic model over that of the forest.
    return statistics.median(time_alternately(of_forest, of_automatic, repeats).speedups)


def measure_all(arguments: argparse.Namespace) -> Iterator[Ratios]:
    """Yield the ratios of each table with each noise that suits it. Raises MissingData."""
    collection = chosen_collection(arguments)
    folder = chosen_folder(arguments)
    for name in chosen_tables(arguments):
        for noise in arguments.noise:
            if suits(noise, collection.tables[name].n_classes):
                split = collection.split(folder, name, noise, 0, arguments.rows)
                yield measure(name, noise, split, arguments.repeats)


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = options.program_parser("benchmarks.comparison.prediction_times", __doc__)
    add_tables(parser)
    parser.add_argument("--noise", nargs="*", choices=NOISES, default=DEFAULT_NOISES, metavar="NOISE")
    parser.add_argument("--repeats", type=int, default=5, help="measurements of each model")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> None:
    arguments = parse_arguments(words)
    print(
        f"| table | noise | share of the regression | {' | '.join(CALLS)} |\n|{' --- |' * (3 + len(CALLS))}", flush=True
    )
    measured = []
    for one in measure_all(arguments):
        measured.append(one.ratios)
        print(f"| {one.table} | {NOISES[one.noise]} | {one.share:.0%} | {_cells(one.ratios)} |", flush=True)
    for heading, summary in (("median", np.median), ("largest", np.max)) if measured else ():
        print(f"| {heading} | | | {_cells(summary(measured, axis=0))} |")


def _cells(ratios: Iterable[float]) -> str:
    return " | ".join(f"{ratio:.1f}" for ratio in ratios)


if __name__ == "__main__":
    main()
