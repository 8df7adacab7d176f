"""The comparison of classifiers, on tiny tables."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from benchmarks.comparison import __main__ as command
from benchmarks.comparison.collection import Split
from benchmarks.comparison.methods import METHODS, Method, measure, missing_packages, probability_scores
from benchmarks.comparison.noise import NOISES, cyclic_transition, suits
from benchmarks.comparison.tables import HELD_OUT, PARQUET, TABLES
from tests.shared_material import shared_path

N_ROWS = 120


@pytest.fixture
def folder(tmp_path):
    """Return a folder with tables of the names of real ones: numbers, numbers with gaps and categories, and text."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N_ROWS)
    values = rng.normal(size=N_ROWS) + 3 * y
    gaps = np.where(np.arange(N_ROWS) % 10 == 3, np.nan, rng.integers(0, 3, N_ROWS))
    tables = {
        "wdbc": {"x0": values, "x1": rng.normal(size=N_ROWS), "meta_row": np.arange(N_ROWS), "target": y},
        "credit": {"A1": gaps, "A2": values, "target": y},
        "keel_tic-tac-toe": {"x0": rng.choice(["b", "o", "x"], N_ROWS), "target": np.where(y, "positive", "negative")},
    }
    for name, columns in tables.items():
        parquet.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    return tmp_path


@pytest.fixture
def split():
    """Return an easy split of three classes with missing values, one of them among categories."""
    rng = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 3
    X = np.column_stack([4 * y + rng.normal(size=N_ROWS), y, rng.normal(size=N_ROWS)]).astype(float)
    X[[4, 70], [0, 1]] = np.nan
    return Split(X[:90], y[:90], X[90:], y[90:], [1])


@pytest.mark.parametrize("n_classes", range(2, 12))
def test_class_conditional_noise_leaves_most_labels_of_each_class_right(n_classes):
    transition = cyclic_transition(n_classes)
    np.testing.assert_allclose(transition.sum(axis=1), 1)
    assert np.mean(1 - np.diag(transition)) == pytest.approx(0.2)
    assert (np.diag(transition) > 0.5).all()
    assert np.count_nonzero(transition) == 2 * n_classes


@pytest.mark.parametrize("noise", NOISES)
def test_noise_changes_training_labels_only(folder, noise):
    clean, noisy = (PARQUET.split(folder, "wdbc", name, 0, N_ROWS) for name in ("uniform_0", noise))
    for field in ("X", "X_test", "y_test"):
        np.testing.assert_array_equal(getattr(clean, field), getattr(noisy, field))
    assert np.mean(clean.y != noisy.y) == pytest.approx(int(noise.rsplit("_", 1)[1]) / 100, abs=0.12)


def test_draws_have_rows_and_labels_of_their_own(folder):
    splits = [PARQUET.split(folder, "wdbc", "uniform_40", draw, 60) for draw in (0, 1)]
    assert [len(one.y) + len(one.y_test) for one in splits] == [60, 60]
    assert not np.array_equal(splits[0].X, splits[1].X)


def test_nominal_columns_become_codes_and_gaps_stay(folder):
    credit = PARQUET.read(folder, "credit", 0, N_ROWS)
    assert credit.categorical == [0]
    assert set(credit.X[:, 0][~np.isnan(credit.X[:, 0])]) == {0, 1, 2}
    assert np.isnan(credit.X[:, 0]).sum() == N_ROWS // 10
    text = PARQUET.read(folder, "keel_tic-tac-toe", 0, N_ROWS)
    assert (text.categorical, set(text.X[:, 0]), set(text.y)) == ([0], {0, 1, 2}, {0, 1})


def test_tables_have_the_stated_classes_and_enough_rows():
    for name, table in TABLES.items():
        labels = parquet.read_table(shared_path("data", f"{name}.parquet"), columns=["target"])["target"]
        assert len(labels.unique()) == table.n_classes, name
        assert len(labels) >= 150, name


def test_a_third_of_the_tables_is_held_out():
    assert list(TABLES) == sorted(TABLES)
    assert len(HELD_OUT) == len(TABLES) // 3


@pytest.mark.parametrize("method", METHODS)
def test_methods_learn_from_numbers_and_categories_with_gaps(method, split):
    if packages := missing_packages(method):
        pytest.skip(f"needs {', '.join(packages)}")
    measured = measure(method, split, seed=0)
    assert measured["accuracy"] > 0.9
    assert measured["fit_seconds"] > 0
    assert 0 <= measured["log_loss"] < 1
    assert 0 <= measured["brier_score"] < 0.5


def test_classes_without_training_rows_have_probability_zero(split):
    unseen = split._replace(y=np.where(split.y == 1, 0, split.y))  # no training row has the class 1
    probabilities = np.random.default_rng(0).dirichlet([1, 1], len(split.y_test))
    table = np.insert(probabilities, 1, 0.0, axis=1)
    right = np.maximum(table[np.arange(len(table)), split.y_test], np.finfo(float).eps)
    squares = np.sum((table - np.eye(3)[split.y_test]) ** 2, axis=1)
    expected = {"log_loss": -np.log(right).mean(), "brier_score": squares.mean()}
    assert probability_scores(probabilities, unseen) == pytest.approx(expected)


def run(folder, *more):
    methods = ["--methods", "forest", "scikit-learn forest", "HistGradientBoosting"]
    cells = ["--data", str(folder), "--cells", str(folder / "cells.jsonl"), "--rows", "80", "--draws", "2"]
    command.main([*methods, *cells, "--tables", "credit", "wdbc", "--noise", "uniform_20", *more])
    return (folder / "cells.jsonl").read_text().splitlines()


def test_command_measures_each_cell_once_and_prints_all_measures(folder, capsys):
    cells = run(folder)
    assert len(cells) == 2 * 2 * 3
    printed = capsys.readouterr().out
    assert "| method | uniform, 20 % (2 tables) |" in printed
    assert all(f"\n| {method} | " in printed for method in ("forest", "scikit-learn forest", "HistGradientBoosting"))
    assert run(folder) == cells
    assert run(folder, "--print-only", "--noise", "uniform_40") == cells


def test_command_skips_methods_of_absent_packages_with_a_reason(folder, monkeypatch, capsys):
    monkeypatch.setitem(METHODS, "absent", Method(METHODS["forest"].make, ("no_such_package",)))
    cells = run(folder, "--methods", "absent", "forest")
    assert len(cells) == 2 * 2
    assert "skipped: absent (not installed: no_such_package" in capsys.readouterr().err


def test_adversarial_noise_is_for_two_classes():
    assert [suits("adversarial_20", n_classes) for n_classes in (2, 3)] == [True, False]
    chosen = command.parse_arguments(["--tables", "iris", "wdbc", "--draws", "1", "--methods", "forest"])
    assert [key[0] for key in command.keys(chosen) if key[1] == "adversarial_20"] == ["wdbc"]
