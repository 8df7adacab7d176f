"""Differences of two methods on each table."""

import numpy as np
import pytest

from benchmarks.comparison.differences import Difference, difference_lines, differences


def cell(table, draw, method, accuracy, noise="uniform_0"):
    return {"table": table, "noise": noise, "draw": draw, "method": method, "accuracy": accuracy}


CELLS = [
    cell("wine", 0, "forest", 0.9),
    cell("wine", 0, "auto", 0.88),
    cell("wine", 1, "forest", 0.8),
    cell("wine", 1, "auto", 0.82),
    cell("wine", 2, "forest", 0.1),
    cell("wine", 0, "auto", 0.1, noise="uniform_40"),
    cell("iris", 0, "forest", 0.9),
    cell("iris", 0, "auto", 0.95),
]


def test_only_draws_that_both_methods_have_are_compared():
    iris, wine = differences(CELLS, "uniform_0", "forest", "auto")
    assert iris[:3] == pytest.approx(("iris", 0.9, 0.95))
    assert iris.points == pytest.approx(5.0)
    assert np.isnan(iris.standard_error)
    assert wine == pytest.approx(Difference("wine", 0.85, 0.85, 0.0, 2.0, 2))


def test_the_smallest_difference_is_the_first_line():
    lines = list(difference_lines(CELLS, "uniform_0", "forest", "auto"))
    assert lines[0] == "| data set | forest | auto | difference in points | draws |"
    assert lines[2:] == [
        "| wine | 0.850 | 0.850 | +0.0 ± 2.0 | 2 |",
        "| iris | 0.900 | 0.950 | +5.0 | 1 |",
    ]


def test_without_cells_there_is_no_table():
    assert list(difference_lines(CELLS, "uniform_20", "forest", "auto")) == []
