"""Tables of the benchmarks: real data from Parquet files, or synthetic data if a file is missing."""

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as parquet
from numpy.typing import NDArray
from sklearn.datasets import make_classification

import core

CHECKOUT = Path(__file__).resolve().parents[1]

#: Default location of the data, next to the checkout.
SHARED = CHECKOUT.parent / "shared"

#: Environment variable that names another folder of the data.
DATA_VARIABLE = "BRISTLECONE_DATA"

#: Tables with clean labels into which benchmarks inject noise: file and maximum number of rows.
CLEAN_TABLES: dict[str, tuple[str, int | None]] = {
    "optdigits": ("optdigits", None),
    "wdbc": ("wdbc", None),
    "german_numer": ("german_numer", None),
    "vehicle": ("vehicle", None),
    "covertype": ("covertype_balanced15120", None),
    "mnist": ("mnist.train", 10_000),
}

_UNIFORM: tuple[dict[str, Any], ...] = tuple({"kind": "uniform", "rate": rate} for rate in (0.1, 0.2, 0.4))
_TWO_CLASSES = ("wdbc", "german_numer")

#: Prefixes of columns that are not features: labels and identifiers.
_NOT_FEATURES = ("target", "meta")


class Table(NamedTuple):
    """Training and test data: X float32 (row, feature) in C order and y (row,)."""

    name: str
    X: NDArray[np.float32]
    y: NDArray[Any]
    X_test: NDArray[np.float32]
    y_test: NDArray[Any]

    def first_rows(self, n_rows: int | None) -> "Table":
        """Return the table with its first `n_rows` training rows only; None keeps all rows."""
        return self._replace(X=self.X[:n_rows], y=self.y[:n_rows])

    def with_noise(self, rate: float, random_state: int = 0) -> "Table":
        """Return the table with uniform noise in its training labels; the test labels stay clean."""
        if rate == 0:
            return self
        spec = {"kind": "uniform", "rate": rate}
        return self._replace(y=core.inject_noise(self.y, spec, random_state=random_state).labels)


class MissingData(Exception):
    """A data file does not exist."""


def data_folder(chosen: Path | None) -> Path:
    """Return the folder of Parquet files: the chosen one, that of BRISTLECONE_DATA, or the one next to the checkout."""
    return chosen or Path(os.environ.get(DATA_VARIABLE) or SHARED / "data")


def existing_file(folder: Path, name: str) -> Path:
    """Return the file of a data set. Raises MissingData."""
    path = folder / f"{name}.parquet"
    if not path.exists():
        raise MissingData(f"{path.name} is not in {folder}")
    return path


def read(
    folder: Path, name: str, label: str = "target", dtype: type = np.float32
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the features (row, feature) in C order and the column `label` (row,), in the file's order.

    Text labels are replaced by their position in the sorted list of classes. Raises MissingData.
    """
    columns = parquet.read_table(existing_file(folder, name))
    features = [n for n in columns.schema.names if not n.startswith(_NOT_FEATURES)]
    X = np.empty((columns.num_rows, len(features)), dtype=dtype)
    for j, feature in enumerate(features):
        X[:, j] = columns[feature].to_numpy()
    labels = columns[label].to_numpy()
    if labels.dtype == object:
        labels = np.unique(labels.astype(str), return_inverse=True)[1]
    return X, labels.astype(np.int64)


def read_clean(folder: Path, name: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the rows of a table of `CLEAN_TABLES`, with their clean labels. Raises MissingData."""
    file, n_rows = CLEAN_TABLES[name]
    X, y = read(folder, file)
    return X[:n_rows], y[:n_rows]


def noise_specs(name: str) -> tuple[dict[str, Any], ...]:
    """Return the noise models of a table of `CLEAN_TABLES`: uniform noise, and noise that differs between classes.

    Class-conditional noise depends on distances between classes and requires three or more; tables of two classes use
    fixed pairwise rates instead.
    """
    by_class = {"kind": "pairwise", "rates": [0.1, 0.3]} if name in _TWO_CLASSES else {"kind": "class_conditional"}
    return (*_UNIFORM, by_class)


def _shuffled(X: NDArray[np.float32], y: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[Any]]:
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def mnist(folder: Path) -> Table:
    """Return 60,000 training and 10,000 test images of digits, 784 pixels, 10 classes. Raises MissingData."""
    return Table("mnist", *_shuffled(*read(folder, "mnist.train")), *read(folder, "mnist.test"))


def covertype(folder: Path) -> Table:
    """Return a random 16 % of the forest cover data: 54 features, 7 classes, a fifth of the rows for testing.

    Raises MissingData.
    """
    X, y = read(folder, "covertype_sample92962")
    holdout = core.split_holdout(y, 0.2, random_state=0)
    train = _shuffled(X[holdout.train_rows], y[holdout.train_rows])
    return Table("covertype", *train, X[holdout.test_rows], y[holdout.test_rows])


def synthetic_table(n_rows: int, n_features: int, n_classes: int, n_test_rows: int = 10_000) -> Table:
    """Return normal clusters with informative and uninformative features; equal arguments give equal data."""
    X, y = make_classification(
        n_samples=n_rows + n_test_rows,
        n_features=n_features,
        n_informative=n_features // 2,
        n_classes=n_classes,
        n_clusters_per_class=2,
        class_sep=2.0,
        flip_y=0.05,
        random_state=0,
    )
    X = np.ascontiguousarray(X, dtype=np.float32)
    return Table("synthetic", X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def real_or_synthetic(folder: Path) -> list[Table]:
    """Return Covertype and MNIST; print a message and use smaller synthetic data if a file is missing."""
    tables = []
    for read, (n_rows, n_features, n_classes) in ((covertype, (40_000, 54, 7)), (mnist, (20_000, 200, 10))):
        try:
            tables.append(read(folder))
        except MissingData as error:
            message = f"{error}; synthetic data are used instead, but the targets apply to the real table."
            print(message, file=sys.stderr, flush=True)
            table = synthetic_table(n_rows, n_features, n_classes)
            tables.append(table._replace(name=f"synthetic {read.__name__}"))
    return tables
