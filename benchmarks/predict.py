"""Prediction times of fitted forests: many rows at once, and one row alone."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.contenders import forests, warm
from benchmarks.data import Table
from benchmarks.report import Row, Target, seconds
from benchmarks.settings import Settings
from benchmarks.timing import Times, in_turns, seconds_a_call

MANY_ROWS = 10_000
MANY_TARGET = Target(4.0, 8.0)
ONE_TARGET = Target(20.0, 50.0)
CALLS_OF_MANY = 3
CALLS_OF_ONE = (500, 30)  # ours, theirs: each loop lasts long enough to be timed


def _compared(ours: Any, theirs: Any, X: Any, n_calls: tuple[int, int], repeats: int) -> Times:
    ours.predict_proba(X)
    theirs.predict_proba(X)
    return in_turns(
        lambda: seconds_a_call(lambda: ours.predict_proba(X), n_calls[0]),
        lambda: seconds_a_call(lambda: theirs.predict_proba(X), n_calls[1]),
        repeats,
    )


def _rows_of(table: Table, settings: Settings) -> Iterator[Row]:
    pair = forests(settings)
    for make in pair:
        warm(make, table)
    ours, theirs = (make().fit(table.X, table.y) for make in pair)
    many = np.resize(table.X_test, (MANY_ROWS, table.X_test.shape[1]))  # repeats rows where there are too few
    works = (
        (f"{MANY_ROWS:,} rows", many, (CALLS_OF_MANY, CALLS_OF_MANY), MANY_TARGET),
        ("one row, warm", many[:1].copy(), CALLS_OF_ONE, ONE_TARGET),
    )
    for name, X, n_calls, target in works:
        for n_threads in (1, 2):
            ours.set_params(n_jobs=n_threads)
            theirs.set_params(n_jobs=n_threads)
            times = _compared(ours, theirs, X, n_calls, settings.repeats)
            work = f"predict_proba: {name}, {n_threads} thread{'s' * (n_threads > 1)}, {table.name}"
            yield Row(work, seconds(times.ours), seconds(times.theirs), times.speedups, target)


def rows(settings: Settings) -> Iterator[Row]:
    for table in settings.tables():
        yield from _rows_of(table, settings)
