"""Collections of tables, and splits of a table into training rows with noisy labels and test rows with clean ones."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from benchmarks.comparison.noise import noisy_labels

TEST_FRACTION = 0.3


class TableFile(NamedTuple):
    """File of a table. Images have hundreds of features, and therefore few rows."""

    n_classes: int
    max_rows: int | None = None


class Columns(NamedTuple):
    """Columns of a file, as they are stored."""

    features: list[NDArray[Any]]  # each (row,)
    nominal: list[bool]  # (feature,): whether the values are categories
    labels: NDArray[Any]  # (row,)


class Table(NamedTuple):
    """Rows of a table; categories are codes, and NaN is a missing value."""

    X: NDArray[np.float64]  # (row, feature)
    y: NDArray[np.int64]  # (row,)
    categorical: list[int]  # numbers of the categorical features


class Split(NamedTuple):
    """Training rows with noisy labels and test rows with clean ones."""

    X: NDArray[np.float64]  # (row, feature)
    y: NDArray[np.int64]  # (row,)
    X_test: NDArray[np.float64]  # (row, feature)
    y_test: NDArray[np.int64]  # (row,)
    categorical: list[int]


@dataclass(frozen=True, eq=False)
class Collection:
    """Tables that are read in the same way."""

    name: str  # begins the names of its pictures
    title: str
    tables: dict[str, TableFile]
    held_out: tuple[str, ...]  # tables whose results are printed a second time, on their own
    folder: Callable[[Path | None], Path]  # the chosen folder, or the default one; raises MissingData
    columns: Callable[[Path, str], Columns]  # of a table in the folder; raises MissingData

    def read(self, folder: Path, name: str, draw: int, n_rows: int) -> Table:
        """Return at most `n_rows` random rows of a table. Raises MissingData."""
        columns = self.columns(folder, name)
        rows = np.random.default_rng(draw).permutation(len(columns.labels))[:n_rows]
        features = [
            _numbers(values[rows], is_nominal)
            for values, is_nominal in zip(columns.features, columns.nominal, strict=True)
        ]
        y = np.unique(columns.labels[rows].astype(str), return_inverse=True)[1]
        return Table(np.column_stack(features), y, np.flatnonzero(columns.nominal).tolist())

    @lru_cache(maxsize=64)  # noqa: B019 - collections are constants of modules, which live as long as the process
    def split(self, folder: Path, name: str, noise: str, draw: int, n_rows: int) -> Split:
        """Return a split of at most `n_rows` rows; all methods see the same. Raises MissingData."""
        table = self.read(folder, name, draw, min(n_rows, self.tables[name].max_rows or n_rows))
        X, X_test, y, y_test = train_test_split(
            table.X, table.y, test_size=TEST_FRACTION, stratify=table.y, random_state=draw
        )
        return Split(X, noisy_labels(X, y, noise, draw), X_test, y_test, table.categorical)


def _numbers(values: NDArray[Any], is_nominal: bool) -> NDArray[np.float64]:
    """Return the values as numbers; those of a nominal column are replaced by codes, except for NaN."""
    if not is_nominal:
        return values.astype(np.float64)
    codes = np.unique(values.astype(str), return_inverse=True)[1].astype(np.float64)
    return np.where(values != values, np.nan, codes)  # only NaN differs from itself
