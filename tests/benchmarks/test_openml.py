"""Data sets of OpenML become files that the benchmarks read."""

import numpy as np
import pandas as pd

from benchmarks import openml
from benchmarks.data import read
from benchmarks.papers import tree_losses


def frame_and_labels(n_rows, labels):
    """Return a frame with a numeric feature and its labels as categories, as `fetch_openml` does."""
    return pd.DataFrame({"x": np.arange(n_rows, dtype=float)}), pd.Series(labels).astype("category")


def test_rows_are_divided_into_training_and_test_part(tmp_path, monkeypatch):
    monkeypatch.setitem(openml.SOURCES, "mnist_784", openml.Source(1, {"mnist.train": 6, "mnist.test": None}))
    openml.store("mnist_784", tmp_path, lambda **_: frame_and_labels(10, [str(row % 3) for row in range(10)]))
    X, y = read(tmp_path, "mnist.test")
    assert X.ravel().tolist() == [6, 7, 8, 9]
    assert y.tolist() == [0, 1, 2, 0]


def test_labels_count_from_zero_and_names_are_sorted(tmp_path):
    openml.store("covertype", tmp_path, lambda **_: frame_and_labels(4, ["1", "2", "7", "1"]))
    assert read(tmp_path, "covertype")[1].tolist() == [0, 1, 6, 0]
    openml.store("diabetes", tmp_path, lambda **_: frame_and_labels(2, ["tested_positive", "tested_negative"]))
    assert read(tmp_path, "diabetes")[1].tolist() == [1, 0]


def test_mushrooms_have_a_feature_for_each_value_of_the_complete_attributes(tmp_path):
    attributes = {"odor": list("anan") * 5, "cap-shape": list("bcxb") * 5, "stalk-root": ["e", None, "b", None] * 5}
    frame = pd.DataFrame(attributes).astype("category")
    openml.store("mushroom", tmp_path, lambda **_: (frame, pd.Series(list("epep") * 5).astype("category")))
    table = tree_losses.data_set(tmp_path, "Mushrooms", True, None)
    assert (table.X.shape, table.X_test.shape) == ((16, 5), (4, 5))
    assert (table.X.sum(axis=1) == 2).all()
    assert set(zip(table.X[:, 0], table.y, strict=True)) == {(1.0, 0), (0.0, 1)}


def test_mushrooms_have_no_cells_of_all_classes():
    arguments = tree_losses.parse_arguments(["--sets", "Mushrooms", "--draws", "1"])
    assert {key[0] for key in tree_losses.keys(arguments)} == {"table2", "table4"}


def test_all_of_covertype_is_preferred_to_the_sample(tmp_path):
    for name, n_rows in (("covertype", 50), ("covertype_sample92962", 10)):
        frame, labels = frame_and_labels(n_rows, [str(row % 2) for row in range(n_rows)])
        frame.assign(target=labels.astype(int)).to_parquet(tmp_path / f"{name}.parquet", index=False)
    assert len(tree_losses.data_set(tmp_path, "Covertype", True, None).y) == 40
