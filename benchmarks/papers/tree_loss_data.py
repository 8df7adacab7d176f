"""Data sets of "Robust loss functions for training decision trees with noisy labels" (Wilton and Ye 2024)."""

from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from benchmarks.data import Table, existing_file, mnist, read


class Source(NamedTuple):
    """Data set of the paper: its rows with the labels of all classes, and the classes of the positive label."""

    read: Callable[[Path], Table]
    positive: tuple[int, ...]
    has_two_classes: bool = False


def _split(folder: Path, name: str, label: str = "target") -> Table:
    return _divided(name, *read(folder, name, label))


def _divided(name: str, X: NDArray[np.float32], y: NDArray[np.int64]) -> Table:
    """Return the split that the paper states for Covertype and Mushrooms."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=0.8, random_state=0)
    return Table(name, X_train, y_train, X_test, y_test)


def _mushrooms(folder: Path) -> Table:
    """Return a feature for each value of the attributes that are never missing, 112 as in the copy that the paper used.

    Raises MissingData.
    """
    frame = pd.read_parquet(existing_file(folder, "mushroom"))
    attributes = frame.drop(columns=["target", "stalk-root"])
    X = pd.get_dummies(attributes.astype(str)).to_numpy(np.float32)
    return _divided("Mushrooms", np.ascontiguousarray(X), frame["target"].to_numpy(np.int64))


def _covertype(folder: Path) -> Table:
    """Return all rows if `benchmarks.openml` has fetched them, or the sample."""
    is_complete = (folder / "covertype.parquet").exists()
    return _split(folder, "covertype" if is_complete else "covertype_sample92962")


def _cifar10(folder: Path) -> Table:
    return Table("CIFAR-10", *read(folder, "cifar10.train"), *read(folder, "cifar10.test"))


SOURCES = {
    "MNIST": Source(mnist, (1, 3, 5, 7, 9)),
    "Covertype": Source(_covertype, (1,)),
    "Mushrooms": Source(_mushrooms, (1,), has_two_classes=True),
    "UNSW-NB15": Source(partial(_split, name="unsw_nb15.test", label="target_attack_cat"), ()),
    "CIFAR-10": Source(_cifar10, (2, 3, 4, 5, 6, 7)),
}
_NORMAL_TRAFFIC = "unsw_nb15.test"


@lru_cache(maxsize=1)
def data_set(folder: Path, name: str, two_classes: bool, n_rows: int | None) -> Table:
    """Return a data set with the labels of the task. Raises MissingData."""
    source = SOURCES[name]
    if two_classes and name == "UNSW-NB15":  # its classes are names; the two-class label is a column of its own
        return _split(folder, _NORMAL_TRAFFIC).first_rows(n_rows)
    table = source.read(folder).first_rows(n_rows)
    if two_classes:
        table = table._replace(
            y=np.isin(table.y, source.positive).astype(int), y_test=np.isin(table.y_test, source.positive).astype(int)
        )
    return table
