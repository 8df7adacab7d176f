"""Markdown tables of the comparison."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.cells import Cell
from benchmarks.comparison.methods import METHODS
from benchmarks.comparison.noise import NOISES
from benchmarks.comparison.ranking import LEVEL, Comparison, compare, critical_difference

MISSING = "–"
#: Values of the methods in the order of a comparison.
MEASURES: dict[str, Callable[[Comparison], list[str]]] = {
    "mean accuracy": lambda comparison: [f"{value:.3f}" for value in comparison.accuracies.mean(axis=0)],
    "mean log loss": lambda comparison: _without_gaps(comparison.log_losses.mean(axis=0)),
    "mean Brier score": lambda comparison: _without_gaps(comparison.brier_scores.mean(axis=0)),
    "mean rank": lambda comparison: [f"{value:.2f}" for value in comparison.ranks()],
    "wins": lambda comparison: [str(n) for n in comparison.wins()],
    "processor seconds": lambda comparison: [f"{value:.2f}" for value in comparison.fit_seconds],
}

#: Measures of the class probabilities.
OF_PROBABILITIES = ("mean log loss", "mean Brier score")


def _without_gaps(values: NDArray[np.float64]) -> list[str]:
    """Return the values as text; NaN is missing."""
    return [MISSING if np.isnan(value) else f"{value:.3f}" for value in values]


def comparisons(cells: Sequence[Cell], tables: Sequence[str]) -> dict[str, Comparison]:
    """Return a comparison for each noise model under which some method was measured completely."""
    measured = {noise: compare([cell for cell in cells if cell["noise"] == noise], tables) for noise in NOISES}
    return {noise: comparison for noise, comparison in measured.items() if comparison.methods}


def report(cells: Sequence[Cell], tables: Sequence[str]) -> Iterator[str]:
    """Yield the paragraphs of the report: a table for each measure, and the tests of the ranks."""
    for measure in MEASURES:
        if lines := list(table_lines(measure, cells, tables)):
            yield f"{measure[0].upper()}{measure[1:]}:\n\n" + "\n".join(lines)
    yield "\n".join(significance_lines(cells, tables))


def table_lines(measure: str, cells: Sequence[Cell], tables: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the table of a measure; nothing without cells that have it."""
    values = MEASURES[measure]
    compared = comparisons(cells, tables).items()
    if measured := {noise: one for noise, one in compared if set(values(one)) != {MISSING}}:
        yield from markdown_table(measured, values).splitlines()


def significance_lines(cells: Sequence[Cell], tables: Sequence[str]) -> Iterator[str]:
    """Yield a line about the tests of the ranks for each noise model."""
    for noise, comparison in comparisons(cells, tables).items():
        yield f"- {NOISES[noise]}: {sentence(comparison)}"


def markdown_table(measured: dict[str, Comparison], values: Callable[[Comparison], list[str]]) -> str:
    """Return a table with a line for each method and a column for each noise model; "–" is a missing value."""
    columns = [dict(zip(comparison.methods, values(comparison), strict=True)) for comparison in measured.values()]
    names = [name for name in METHODS if any(name in column for column in columns)]
    headings = [f"{NOISES[noise]} ({len(comparison.tables)} tables)" for noise, comparison in measured.items()]
    lines = [_line(["method", *headings]), _line(["---"] * (len(headings) + 1))]
    return "\n".join([*lines, *(_line([name, *(column.get(name, MISSING) for column in columns)]) for name in names)])


def _line(values: list[str]) -> str:
    return f"| {' | '.join(values)} |"


def sentence(comparison: Comparison) -> str:
    """Return the tests of the ranks and the methods that are missing, in a sentence or two."""
    missing = f" Measured in part: {'; '.join(comparison.incomplete)}." if comparison.incomplete else ""
    p_value = comparison.p_value()
    if p_value is None or np.isnan(p_value):
        return f"too few methods or tables for a test.{missing}"
    difference = critical_difference(len(comparison.methods), len(comparison.tables))
    return (
        f"Friedman's test gives p = {p_value:.1g}; mean ranks that differ by more than {difference:.2f} differ "
        f"significantly at {100 * LEVEL:.0f} % (Nemenyi's test).{missing}"
    )
