"""Prediction times of the automatic model, relative to one of our forests; the ratio of the fits is in the notes."""

import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np

import core
from benchmarks.data import Table
from benchmarks.report import Row, Target, seconds
from benchmarks.settings import Settings
from benchmarks.speed.contenders import forests
from benchmarks.speed.timing import TimedFit, Times, seconds_per_call, time_alternately

#: Training rows of a table, so that all tables take minutes.
MAX_ROWS = 10_000
NOISE_RATES = (0.0, 0.4)  # with much noise, trees are grown on drawn labels
TARGET = Target(3.0, is_least=False)
#: Rows per call and number of calls.
CALLS = {"10,000 rows": (10_000, 3), "one row": (1, 500)}


def rows(settings: Settings) -> Iterator[Row]:
    for table in settings.tables():
        for rate in NOISE_RATES:
            yield from compare(table.first_rows(MAX_ROWS).with_noise(rate), f"{table.name}, {rate:.0%} noise", settings)


def compare(table: Table, name: str, settings: Settings) -> Iterator[Row]:
    """Compare predictions of many rows and of one by the automatic model with those of a forest."""
    forest = TimedFit(forests(settings).ours, table)
    automatic = TimedFit(lambda: core.AutoClassifier(n_jobs=settings.jobs, random_state=0), table)
    # In this order, `speedups` is the time of the automatic model over that of the forest.
    times = time_alternately(forest, automatic, settings.repeats)
    note = f"the fit takes {statistics.median(times.speedups):.3g} times as long; "
    note += f"accuracy {automatic.accuracy():.2f} / {forest.accuracy():.2f} %"
    for workload, (n_rows, n_calls) in CALLS.items():
        X = np.resize(table.X_test, (n_rows, table.X_test.shape[1]))
        times = _prediction_times(X, n_calls, forest, automatic, settings.repeats)
        theirs = f"our forest: {seconds(times.ours)}"
        yield Row(
            f"auto: predict_proba, {workload}, {name}", seconds(times.theirs), theirs, times.speedups, TARGET, note
        )


def _prediction_times(X: Any, n_calls: int, forest: TimedFit, automatic: TimedFit, repeats: int) -> Times:
    def timing(fit: TimedFit) -> float:
        return seconds_per_call(lambda: fit.estimator.predict_proba(X), n_calls)

    for fit in (forest, automatic):
        fit.estimator.predict_proba(X)
    return time_alternately(lambda: timing(forest), lambda: timing(automatic), repeats)
