"""Data sets, partitions and noise of Mazuelas and Álvarez 2025."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as parquet
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedShuffleSplit

import core
from benchmarks.data import existing_file

CASES = ("clean", "uniform 10 %", "uniform 20 %", "adversarial 10 %", "adversarial 20 %")


class Source(NamedTuple):
    """Parquet files of a data set, and the class of the positive label; None: the later one of two classes."""

    files: tuple[str, ...]
    positive: int | None = None


#: Data sets of table 3, by their published names; QSAR and Climate are missing.
SMALL = {
    "titanic": Source(("titanic",)),
    "german": Source(("german_numer",)),
    "blood": Source(("blood_transfusion",)),
    "credit": Source(("credit",)),
    "diabetes": Source(("diabetes",)),
    "raisin": Source(("raisin",)),
}
#: Data sets of table 5; each is a sample, and that of susy has 8 of 18 features. The paper states 21 features of higgs,
#: as many as were measured. Without the seven that were derived from these, however, errors on clean labels are 8 to 12
#: points above the published ones.
LARGE = {
    "susy": Source(("susy8_sample.train", "susy8_sample.test")),
    "higgs": Source(("higgs_sample10984",)),
    "forestcov": Source(("covertype_sample92962",), positive=1),
}
LARGE_ROWS = 5_000


class Problem(NamedTuple):
    """Partition of a data set: X (row, feature), labels 0 and 1; the training labels may be noisy."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]


def numeric_column(values: list[Any]) -> NDArray[np.float64]:
    """Return a column as numbers: texts by their position in sorted order, None as NaN."""
    if any(isinstance(value, str) for value in values):
        positions = {value: position for position, value in enumerate(sorted({v for v in values if v is not None}))}
        values = [positions.get(value) for value in values]
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


@lru_cache(maxsize=16)
def read(folder: Path, name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return features (row, feature) and labels 0 and 1. Raises MissingData."""
    source = (SMALL | LARGE)[name]
    parts = [_read_file(folder, file) for file in source.files]
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    labels = y == source.positive if source.positive is not None else np.unique(y, return_inverse=True)[1]
    return X, labels.astype(np.int64)


def _read_file(folder: Path, file: str) -> tuple[NDArray[np.float64], NDArray[Any]]:
    table = parquet.read_table(existing_file(folder, file))
    features = [n for n in table.schema.names if not n.startswith(("target", "meta"))]
    return np.column_stack([numeric_column(table[n].to_pylist()) for n in features]), np.array(table["target"])


def training_labels(X: NDArray[np.float64], y: NDArray[np.int64], case: str, draw: int) -> NDArray[np.int64]:
    """Return the labels (row,) with the noise of the case, such as "uniform 15 %"."""
    if case == "clean":
        return y
    kind, percent = case.split()[:2]
    return core.inject_noise(y, {"kind": kind, "rate": float(percent) / 100}, X=X, random_state=draw).labels


@lru_cache(maxsize=1)
def problems(folder: Path, name: str, case: str, n_partitions: int) -> list[Problem]:
    """Return the partitions of a data set. Raises MissingData."""
    return list(_partitions(*read(folder, name), case, n_partitions, name in LARGE))


def _partitions(
    X: NDArray[np.float64], y: NDArray[np.int64], case: str, n_partitions: int, is_large: bool
) -> Iterator[Problem]:
    sizes = {"train_size": LARGE_ROWS, "test_size": LARGE_ROWS} if is_large else {"test_size": 0.1}
    split = StratifiedShuffleSplit(n_partitions, random_state=0, **sizes)
    for draw, (train, test) in enumerate(split.split(X, y)):
        yield Problem(X[train], training_labels(X[train], y[train], case, draw), X[test], y[test])
