"""Prediction times of forests, for many rows and for a single row."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.data import Table
from benchmarks.report import Row, Target, seconds
from benchmarks.settings import Settings
from benchmarks.speed.contenders import forests, warm_up
from benchmarks.speed.timing import Times, seconds_per_call, time_alternately

MANY_ROWS = 10_000
MANY_TARGET = Target(4.0, 8.0)
ONE_TARGET = Target(20.0, 50.0)
CALLS_MANY_ROWS = 3
CALLS_ONE_ROW = (500, 30)  # ours, theirs: enough calls to measure the time of a loop


def _compare(ours: Any, theirs: Any, X: Any, n_calls: tuple[int, int], repeats: int) -> Times:
    def predict_by_theirs() -> None:
        # Its threads change the filters of warnings at the same time, and may leave none behind. It then warns for
        # each tree of each later call, which takes longer than to predict one row.
        with warnings.catch_warnings():
            theirs.predict_proba(X)

    ours.predict_proba(X)
    predict_by_theirs()
    return time_alternately(
        lambda: seconds_per_call(lambda: ours.predict_proba(X), n_calls[0]),
        lambda: seconds_per_call(predict_by_theirs, n_calls[1]),
        repeats,
    )


def _table_rows(table: Table, settings: Settings) -> Iterator[Row]:
    pair = forests(settings)
    for make in pair:
        warm_up(make, table)
    ours, theirs = (make().fit(table.X, table.y) for make in pair)
    many = np.resize(table.X_test, (MANY_ROWS, table.X_test.shape[1]))  # repeats rows if there are too few
    workloads = (
        (f"{MANY_ROWS:,} rows", many, (CALLS_MANY_ROWS, CALLS_MANY_ROWS), MANY_TARGET),
        ("one row, warm", many[:1].copy(), CALLS_ONE_ROW, ONE_TARGET),
    )
    for name, X, n_calls, target in workloads:
        for n_threads in (1, 2):
            ours.set_params(n_jobs=n_threads)
            theirs.set_params(n_jobs=n_threads)
            times = _compare(ours, theirs, X, n_calls, settings.repeats)
            workload = f"predict_proba: {name}, {n_threads} thread{'s' * (n_threads > 1)}, {table.name}"
            yield Row(workload, seconds(times.ours), seconds(times.theirs), times.speedups, target)


def rows(settings: Settings) -> Iterator[Row]:
    for table in settings.tables():
        yield from _table_rows(table, settings)
