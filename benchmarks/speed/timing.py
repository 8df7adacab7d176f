"""Durations of two contenders, measured alternately so that both run under the same conditions."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.data import Table
from benchmarks.speed.contenders import EstimatorFactory, warm_up

#: A contender that takes longer is run at most `SLOW_REPEATS` times, regardless of the number of repeats.
SLOW_SECONDS = 60.0
SLOW_REPEATS = 2

Timing = Callable[[], float]


class Times(NamedTuple):
    """Durations in seconds, one value per repeat."""

    ours: list[float]
    theirs: list[float]

    @property
    def speedups(self) -> list[float]:
        """Return the ratio of their time to ours in each repeat."""
        return [theirs / ours for ours, theirs in zip(self.ours, self.theirs, strict=True)]


def time_alternately(ours: Timing, theirs: Timing, repeats: int) -> Times:
    """Run both contenders once per repeat; the order alternates."""
    times = Times([], [])
    contenders = [(ours, times.ours), (theirs, times.theirs)]
    for repeat in range(repeats):
        if repeat >= SLOW_REPEATS and max(times.theirs) > SLOW_SECONDS:
            break
        for contender, seconds in contenders[:: 1 if repeat % 2 == 0 else -1]:
            seconds.append(contender())
    return times


class TimedFit:
    """Fit whose duration can be measured repeatedly; `estimator` is the result of the last fit."""

    def __init__(self, make: EstimatorFactory, table: Table) -> None:
        self._make, self._table = make, table
        self.estimator: Any = None
        warm_up(make, table)

    def __call__(self) -> float:
        self.estimator = None  # release the memory of the previous fit
        estimator = self._make()
        begin = time.perf_counter()
        estimator.fit(self._table.X, self._table.y)
        seconds = time.perf_counter() - begin
        self.estimator = estimator
        return seconds

    def accuracy(self) -> float:
        """Return the accuracy on the clean test rows in percent."""
        return 100.0 * float(self.estimator.score(self._table.X_test, self._table.y_test))


def seconds_per_call(call: Callable[[], Any], n_calls: int) -> float:
    """Return the mean duration of a call over `n_calls` calls."""
    begin = time.perf_counter()
    for _ in range(n_calls):
        call()
    return (time.perf_counter() - begin) / n_calls
