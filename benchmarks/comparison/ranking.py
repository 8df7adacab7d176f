"""Ranks of methods over tables, and the difference that is too large for chance (Demšar 2006, JMLR 7, section 3.2)."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from benchmarks.cells import Cell
from benchmarks.comparison.methods import METHODS

#: Fields that identify a cell.
KEY = ("table", "noise", "draw", "rows", "method")
LEVEL = 0.05
#: Differences of means over draws below this are rounding errors.
_DECIMALS = 10


class Comparison(NamedTuple):
    """Accuracies of the methods that were measured on all tables and draws, under one noise model."""

    methods: list[str]
    tables: list[str]
    accuracies: NDArray[np.float64]  # (table, method), means over draws
    log_losses: NDArray[np.float64]  # (table, method), means over draws; NaN where cells have none
    brier_scores: NDArray[np.float64]  # the same
    fit_seconds: NDArray[np.float64]  # (method,), medians
    incomplete: list[str]  # methods with cells for a part of the tables and draws

    def ranks(self) -> NDArray[np.float64]:
        """Return the mean rank of each method over the tables, (method,); 1 is best, and ties share their mean."""
        return np.asarray(rankdata(-self.accuracies, axis=1).mean(axis=0))

    def wins(self) -> NDArray[np.int64]:
        """Return the number of tables on which no other method is more accurate, (method,)."""
        return np.asarray((self.accuracies == self.accuracies.max(axis=1, keepdims=True)).sum(axis=0))

    def p_value(self) -> float | None:
        """Return the p-value of Friedman's test of equal methods, which requires three; None for fewer."""
        if len(self.methods) < 3 or len(self.tables) < 2:
            return None
        return float(friedmanchisquare(*self.accuracies.T).pvalue)


def compare(cells: Sequence[Cell], tables: Sequence[str]) -> Comparison:
    """Compare methods by cells of one noise model. Methods that lack a table or draw that others have are omitted."""
    by_method: dict[str, dict[tuple[str, int], Cell]] = {}
    for cell in cells:
        if cell["table"] in tables:
            by_method.setdefault(cell["method"], {})[cell["table"], cell["draw"]] = cell
    measured = sorted(set().union(*by_method.values()))
    complete = [name for name in METHODS if name in by_method and len(by_method[name]) == len(measured)]
    names = sorted({table for table, _ in measured})

    def means(field: str) -> NDArray[np.float64]:
        return np.array([[_mean(by_method[method], table, field) for method in complete] for table in names])

    return Comparison(
        complete,
        names,
        means("accuracy"),
        means("log_loss"),
        means("brier_score"),
        np.array([np.median([cell["fit_seconds"] for cell in by_method[method].values()]) for method in complete]),
        sorted(set(by_method) - set(complete)),
    )


def _mean(cells: dict[tuple[str, int], Cell], table: str, field: str) -> float:
    values = [cell.get(field, np.nan) for (name, _), cell in cells.items() if name == table]
    return round(float(np.mean(values)), _DECIMALS)


def critical_difference(n_methods: int, n_tables: int) -> float:
    """Return the difference of mean ranks above which two methods differ significantly (Nemenyi's test)."""
    quantile = studentized_range.ppf(1 - LEVEL, n_methods, math.inf) / math.sqrt(2)
    return float(quantile * math.sqrt(n_methods * (n_methods + 1) / (6 * n_tables)))


def similar_groups(ranks: NDArray[np.float64], difference: float) -> list[tuple[float, float]]:
    """Return the lowest and the highest rank of each largest group of methods within `difference` of each other."""
    ordered = np.sort(ranks)
    ends = [float(ordered[ordered <= low + difference].max()) for low in ordered]
    groups: list[tuple[float, float]] = []
    for low, high in zip(ordered.tolist(), ends, strict=True):
        if high > low and (not groups or high > groups[-1][1]):
            groups.append((low, high))
    return groups
