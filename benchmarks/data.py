"""The tables that the benchmarks run on: real ones from a folder of Parquet files, made ones where it is absent."""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as parquet
from numpy.typing import NDArray
from sklearn.datasets import make_classification

import core

CHECKOUT = Path(__file__).resolve().parents[1]

#: Looked for beside the checkout when no folder is given.
SHARED = CHECKOUT.parent / "shared"

#: Tables whose labels benchmarks make wrong, by name: the file, and how many of its first rows are taken.
TO_FLIP: dict[str, tuple[str, int | None]] = {
    "optdigits": ("optdigits", None),
    "wdbc": ("wdbc", None),
    "german_numer": ("german_numer", None),
    "vehicle": ("vehicle", None),
    "covertype": ("covertype_balanced15120", None),
    "mnist": ("mnist.train", 10_000),
}

_UNIFORM: tuple[dict[str, Any], ...] = tuple({"kind": "uniform", "rate": rate} for rate in (0.1, 0.2, 0.4))
_TWO_CLASSES = ("wdbc", "german_numer")

#: Columns that are no features: labels and identifiers.
_NOT_FEATURES = ("target", "meta")


class Table(NamedTuple):
    """X float32 (row, feature), C order, and y (row,), for training and for testing."""

    name: str
    X: NDArray[np.float32]
    y: NDArray[Any]
    X_test: NDArray[np.float32]
    y_test: NDArray[Any]

    def first_rows(self, n_rows: int | None) -> "Table":
        """The table with its first `n_rows` training rows only; None keeps them all."""
        return self._replace(X=self.X[:n_rows], y=self.y[:n_rows])

    def with_noise(self, rate: float, random_state: int = 0) -> "Table":
        """The table with uniform noise in its training labels; the test labels stay clean."""
        if rate == 0:
            return self
        spec = {"kind": "uniform", "rate": rate}
        return self._replace(y=core.inject_noise(self.y, spec, random_state=random_state).labels)


class NoData(Exception):
    """A file of the folder is not there."""


def data_folder(chosen: Path | None) -> Path:
    """The folder of Parquet files: the one given, else `shared/data` beside the checkout."""
    return chosen or SHARED / "data"


def read(
    folder: Path, name: str, label: str = "target", dtype: type = np.float32
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Features (row, feature) in C order and the column `label` (row,), in the file's order; classes that have names
    are numbered in the order of these. Raises NoData.
    """
    path = folder / f"{name}.parquet"
    if not path.exists():
        raise NoData(f"{path.name} is not in {folder}")
    columns = parquet.read_table(path)
    features = [n for n in columns.schema.names if not n.startswith(_NOT_FEATURES)]
    X = np.empty((columns.num_rows, len(features)), dtype=dtype)
    for j, feature in enumerate(features):
        X[:, j] = columns[feature].to_numpy()
    labels = columns[label].to_numpy()
    if labels.dtype == object:
        labels = np.unique(labels.astype(str), return_inverse=True)[1]
    return X, labels.astype(np.int64)


def to_flip(folder: Path, name: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The rows of a table of `TO_FLIP`, with clean labels. Raises NoData."""
    file, n_rows = TO_FLIP[name]
    X, y = read(folder, file)
    return X[:n_rows], y[:n_rows]


def noises_of(name: str) -> tuple[dict[str, Any], ...]:
    """What makes labels of a table of `TO_FLIP` wrong: uniform noise, and noise that differs by class. The latter goes
    by distances between classes, of which it needs three; two classes have given rates.
    """
    by_class = {"kind": "pairwise", "rates": [0.1, 0.3]} if name in _TWO_CLASSES else {"kind": "class_conditional"}
    return (*_UNIFORM, by_class)


def _shuffled(X: NDArray[np.float32], y: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[Any]]:
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def mnist(folder: Path) -> Table:
    """60,000 and 10,000 pictures of digits, 784 pixels, 10 classes. Raises NoData."""
    return Table("mnist", *_shuffled(*read(folder, "mnist.train")), *read(folder, "mnist.test"))


def covertype(folder: Path) -> Table:
    """A random 16 % of the forest cover table: 54 features, 7 classes; a fifth of the rows is held out. Raises
    NoData.
    """
    X, y = read(folder, "covertype_sample92962")
    held_out = core.split_holdout(y, 0.2, random_state=0)
    train = _shuffled(X[held_out.train_rows], y[held_out.train_rows])
    return Table("covertype", *train, X[held_out.test_rows], y[held_out.test_rows])


def made(n_rows: int, n_features: int, n_classes: int, n_test_rows: int = 10_000) -> Table:
    """Normal clusters, half of the features informative; the same for the same numbers."""
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
    return Table("made", X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def real_or_made(folder: Path) -> list[Table]:
    """Covertype and MNIST, each replaced by a made table of fewer rows, with a message, where its file is absent."""
    tables = []
    for read, (n_rows, n_features, n_classes) in ((covertype, (40_000, 54, 7)), (mnist, (20_000, 200, 10))):
        try:
            tables.append(read(folder))
        except NoData as absent:
            message = f"{absent}: made data in its place; the targets are meant for the real table."
            print(message, file=sys.stderr, flush=True)
            tables.append(made(n_rows, n_features, n_classes)._replace(name=f"made for {read.__name__}"))
    return tables
