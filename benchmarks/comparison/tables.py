"""Tables of the comparison, and their splits into training rows with noisy labels and test rows with clean ones."""

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as parquet
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from benchmarks.accuracy.categorical import NOMINAL
from benchmarks.comparison.noise import noisy_labels
from benchmarks.data import existing_file

TEST_FRACTION = 0.3
_NOT_FEATURES = ("target", "meta")


class TableFile(NamedTuple):
    """Parquet file of a table. Images have hundreds of features, and therefore few rows."""

    n_classes: int
    max_rows: int | None = None


#: All files with clean labels and at least 150 rows, in alphabetical order. Of files that hold the same data, one is
#: listed: the part of a pair with enough rows, `credit` without its one-hot form, and one of the two samples of the
#: forest cover data, which share rows. `label_errors_*` are predictions for images of the sets below.
TABLES: dict[str, TableFile] = {
    "blood_transfusion": TableFile(2),
    "cifar10n_kmeans.test": TableFile(10, max_rows=1000),
    "covertype_balanced15120": TableFile(7),
    "credit": TableFile(2),
    "diabetes": TableFile(2),
    "german_numer": TableFile(2),
    "higgs_sample10984": TableFile(2),
    "iris": TableFile(3),
    "keel_contraceptive": TableFile(3),
    "keel_housevotes": TableFile(2),
    "keel_phoneme": TableFile(2),
    "keel_ring": TableFile(2),
    "keel_segment": TableFile(7),
    "keel_splice": TableFile(3),
    "keel_tic-tac-toe": TableFile(2),
    "keel_vowel": TableFile(11),
    "mnist.test": TableFile(10, max_rows=1000),
    "optdigits": TableFile(10),
    "raisin": TableFile(2),
    "susy8_sample.train": TableFile(2),
    "titanic": TableFile(2),
    "unsw_nb15.test": TableFile(2),
    "vehicle": TableFile(4),
    "wdbc": TableFile(2),
    "wine": TableFile(3),
}

#: Every third table. Methods and defaults are not chosen by results on these.
HELD_OUT = tuple(list(TABLES)[2::3])


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


@lru_cache(maxsize=len(TABLES))
def read_split(folder: Path, name: str, noise: str, draw: int, n_rows: int) -> Split:
    """Return a split of at most `n_rows` rows; all methods see the same. Raises MissingData."""
    table = read_table(folder, name, draw, min(n_rows, TABLES[name].max_rows or n_rows))
    X, X_test, y, y_test = train_test_split(
        table.X, table.y, test_size=TEST_FRACTION, stratify=table.y, random_state=draw
    )
    return Split(X, noisy_labels(X, y, noise, draw), X_test, y_test, table.categorical)


def read_table(folder: Path, name: str, draw: int, n_rows: int) -> Table:
    """Return at most `n_rows` random rows. Raises MissingData."""
    rows = parquet.read_table(existing_file(folder, name))
    rows = rows.take(np.random.default_rng(draw).permutation(rows.num_rows)[:n_rows])
    features = [column for column in rows.schema.names if not column.startswith(_NOT_FEATURES)]
    nominal = (NOMINAL[name] or features) if name in NOMINAL else ()
    columns = [_numbers(rows[feature].to_numpy(), feature in nominal) for feature in features]
    y = np.unique(rows["target"].to_numpy().astype(str), return_inverse=True)[1]
    return Table(np.column_stack(columns), y, [i for i, feature in enumerate(features) if feature in nominal])


def _numbers(values: NDArray[Any], is_nominal: bool) -> NDArray[np.float64]:
    """Return the values as numbers; those of a nominal column are replaced by codes, except for NaN."""
    if not is_nominal:
        return values.astype(np.float64)
    codes = np.unique(values.astype(str), return_inverse=True)[1].astype(np.float64)
    return np.where(values != values, np.nan, codes)  # only NaN differs from itself
