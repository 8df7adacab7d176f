"""Differences of two methods on each table, over all draws that both have."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.cells import Cell


class Difference(NamedTuple):
    """Accuracies of two methods on one table, as means over draws, and their difference in percentage points."""

    table: str
    first: float
    second: float
    points: float
    standard_error: float  # of the points, over draws; NaN for a single draw
    n_draws: int


def differences(cells: Sequence[Cell], noise: str, first: str, second: str) -> list[Difference]:
    """Return the differences under one noise model by table, the method `second` minus `first`."""
    accuracies = {
        (cell["table"], cell["draw"], cell["method"]): cell["accuracy"] for cell in cells if cell["noise"] == noise
    }
    pairs: dict[str, list[tuple[float, float]]] = {}
    for table, draw, method in accuracies:
        if method == first and (table, draw, second) in accuracies:
            pairs.setdefault(table, []).append((accuracies[table, draw, first], accuracies[table, draw, second]))
    return [_difference(table, np.array(pairs[table])) for table in sorted(pairs)]


def _difference(table: str, pairs: NDArray[np.float64]) -> Difference:
    """Return the difference of accuracies (draw, method)."""
    points = 100 * (pairs[:, 1] - pairs[:, 0])
    error = float(points.std(ddof=1) / np.sqrt(len(points))) if len(points) > 1 else np.nan
    first, second = (float(mean) for mean in pairs.mean(axis=0))
    return Difference(table, first, second, float(points.mean()), error, len(points))


def difference_lines(cells: Sequence[Cell], noise: str, first: str, second: str) -> Iterator[str]:
    """Yield the lines of a table of the differences, smallest first; nothing without cells."""
    if found := differences(cells, noise, first, second):
        yield f"| data set | {first} | {second} | difference in points | draws |"
        yield "| --- | --- | --- | --- | --- |"
        for one in sorted(found, key=lambda one: one.points):
            values = f"{one.first:.3f} | {one.second:.3f} | {_points(one)} | {one.n_draws}"
            yield f"| {one.table} | {values} |"


def _points(one: Difference) -> str:
    """Return the difference with its standard error, if there is one."""
    points = f"{round(one.points, 1) + 0.0:+.1f}"  # + 0.0: a zero has no minus sign
    return points if one.n_draws < 2 else f"{points} ± {one.standard_error:.1f}"
