"""Durations of two contenders, taken in turns so that both meet the same machine."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.contenders import Make, warm
from benchmarks.data import Table

#: A contender that takes longer is run at most twice, whatever the number of repeats.
SLOW_SECONDS = 60.0
SLOW_REPEATS = 2

Timed = Callable[[], float]


class Times(NamedTuple):
    """Seconds, one value a repeat."""

    ours: list[float]
    theirs: list[float]

    @property
    def speedups(self) -> list[float]:
        """Their time over ours, repeat by repeat."""
        return [theirs / ours for ours, theirs in zip(self.ours, self.theirs, strict=True)]


def in_turns(ours: Timed, theirs: Timed, repeats: int) -> Times:
    """Run both once a repeat; who goes first changes each time."""
    times = Times([], [])
    contenders = [(ours, times.ours), (theirs, times.theirs)]
    for repeat in range(repeats):
        if repeat >= SLOW_REPEATS and max(times.theirs) > SLOW_SECONDS:
            break
        for contender, seconds in contenders[:: 1 if repeat % 2 == 0 else -1]:
            seconds.append(contender())
    return times


class TimedFit:
    """A fit that can be timed again and again; `estimator` is the last one fitted."""

    def __init__(self, make: Make, table: Table) -> None:
        self._make, self._table = make, table
        self.estimator: Any = None
        warm(make, table)

    def __call__(self) -> float:
        self.estimator = None  # the memory of the last one is free before the next grows
        estimator = self._make()
        begin = time.perf_counter()
        estimator.fit(self._table.X, self._table.y)
        seconds = time.perf_counter() - begin
        self.estimator = estimator
        return seconds

    def accuracy(self) -> float:
        """Percent of the clean test rows."""
        return 100.0 * float(self.estimator.score(self._table.X_test, self._table.y_test))


def seconds_a_call(call: Callable[[], Any], n_calls: int) -> float:
    """Mean seconds of a call within a loop of them."""
    begin = time.perf_counter()
    for _ in range(n_calls):
        call()
    return (time.perf_counter() - begin) / n_calls
