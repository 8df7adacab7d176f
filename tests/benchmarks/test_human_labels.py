"""The comparison on labels of people, on a tiny table in place of the images."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from benchmarks.cells import CellFile
from benchmarks.comparison import human_labels

N_IMAGES, N_ROWS, N_TEST_ROWS = 400, 200, 100


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Folder of a table of three classes with four columns of labels, whose first feature is the number of the row."""
    monkeypatch.setattr(human_labels, "N_TEST_ROWS", N_TEST_ROWS)
    human_labels.read_images.cache_clear()
    rng = np.random.default_rng(0)
    correct = np.arange(N_IMAGES) % 3
    columns = {"x0": np.arange(N_IMAGES), "x1": 5.0 * correct + rng.normal(size=N_IMAGES), "meta_row": correct}
    for number, name in enumerate(human_labels.LABELS):
        is_wrong = np.arange(N_IMAGES) % 10 < number
        columns[name] = np.where(is_wrong, (correct + 1) % 3, correct)
    parquet.write_table(pa.table(columns), tmp_path / f"{human_labels.IMAGES}.parquet")
    yield tmp_path
    human_labels.read_images.cache_clear()


def split(folder, label_column, n_rows=N_ROWS, draw=0):
    return human_labels.split_images(human_labels.read_images(folder), label_column, n_rows, draw)


@pytest.mark.parametrize("labels", human_labels.LABELS)
def test_training_labels_are_of_people_and_test_labels_are_correct(labels, folder):
    images = split(folder, labels)
    rows, test_rows = images.X[:, 0].astype(int), images.X_test[:, 0].astype(int)
    assert len(set(rows)) == N_ROWS
    assert len(set(test_rows)) == N_TEST_ROWS
    assert not set(rows) & set(test_rows)
    is_wrong = rows % 10 < list(human_labels.LABELS).index(labels)
    np.testing.assert_array_equal(images.y, np.where(is_wrong, (rows % 3 + 1) % 3, rows % 3))
    np.testing.assert_array_equal(images.y_test, test_rows % 3)


def test_all_kinds_of_labels_have_the_same_rows_and_draws_have_others(folder):
    splits = [split(folder, labels) for labels in human_labels.LABELS]
    for other in splits[1:]:
        np.testing.assert_array_equal(other.X, splits[0].X)
    assert not np.array_equal(split(folder, "target", draw=1).X, splits[0].X)


def test_command_measures_and_prints_a_table_for_each_number_of_images(folder, capsys):
    cells = folder / "cells.jsonl"
    words = ["--data", str(folder), "--cells", str(cells), "--draws", "2", "--rows", "60", str(N_ROWS)]
    human_labels.main([*words, "--methods", "forest", "scikit-learn forest"])
    printed = capsys.readouterr().out
    assert "## 60 images" in printed
    assert f"## {N_ROWS} images" in printed
    assert printed.count("| forest | ") == printed.count("| scikit-learn forest | ") == 2
    assert len(CellFile(cells, human_labels.KEY).by_key()) == 2 * 2 * 2 * len(human_labels.LABELS)


def test_values_are_means_over_draws_with_their_standard_errors():
    cells = [
        {"labels": "target", "rows": 10, "draw": draw, "method": "forest", "accuracy": accuracy}
        for draw, accuracy in enumerate((0.5, 0.6, 0.7))
    ]
    cells.append({"labels": "target_worse", "rows": 10, "draw": 0, "method": "forest", "accuracy": 0.25})
    line = list(human_labels.table_lines(cells, 10))[-1]
    assert line == "| forest | – | – | 60.0 ± 5.8 | 25.0 |"
    assert not list(human_labels.table_lines(cells, 11))


def test_rows_that_leave_too_few_for_testing_are_refused(folder):
    with pytest.raises(ValueError, match="--rows is 301; 100 of the 400 images are for testing, so it must be at most"):
        split(folder, "target", N_IMAGES - N_TEST_ROWS + 1)
