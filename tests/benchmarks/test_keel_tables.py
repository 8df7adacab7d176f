"""Tables of the KEEL repository, on a tiny folder of the same form, and on the package itself where it is installed."""

import re
from collections import Counter

import numpy as np
import pytest

from benchmarks.comparison import __main__ as command
from benchmarks.comparison import keel_tables
from benchmarks.comparison.keel_tables import KEEL, KEEL_TABLES
from benchmarks.comparison.tables import TABLES
from benchmarks.data import MissingData

N_ROWS = 120


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a table of numbers and one of text, with spaces after the commas of the latter."""
    rng = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 2
    for kind, name, columns in (
        ("balanced", "bupa", [3 * y + rng.normal(size=N_ROWS).round(3), rng.integers(0, 9, N_ROWS), y]),
        ("imbalanced", "abalone9-18", [rng.choice(["M", "F"], N_ROWS), np.where(y, "positive", "negative")]),
    ):
        path = tmp_path / kind / "raw" / f"{name}.dat"
        path.parent.mkdir(parents=True)
        path.write_text("".join(", ".join(map(str, row)) + "\n" for row in zip(*columns, strict=True)))
    return tmp_path


def test_numbers_stay_numbers_and_text_becomes_codes(folder):
    bupa = KEEL.read(folder, "bupa", 0, 80)
    assert (bupa.X.shape, bupa.categorical, set(bupa.y)) == ((80, 2), [], {0, 1})
    abalone = KEEL.read(folder, "abalone9-18", 0, N_ROWS)
    assert (abalone.categorical, set(abalone.X[:, 0]), set(abalone.y)) == ([0], {0, 1}, {0, 1})


def test_command_measures_a_table_of_the_collection(folder, capsys):
    words = ["--collection", "keel", "--data", str(folder), "--cells", str(folder / "cells.jsonl"), "--draws", "1"]
    command.main([*words, "--tables", "bupa", "--noise", "uniform_20", "--methods", "forest", "scikit-learn forest"])
    printed = capsys.readouterr().out
    assert printed.count("## Tables of the KEEL repository") == 1
    assert "| method | uniform, 20 % (1 tables) |" in printed


def test_a_table_that_is_not_in_the_folder_is_named(folder):
    with pytest.raises(MissingData, match=r"sonar\.dat is neither in balanced/raw nor in imbalanced/raw"):
        keel_tables.read_columns(folder, "sonar")


def test_without_the_package_the_command_tells_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setattr(keel_tables, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=re.escape(keel_tables.INSTALL)):
        command.main(["--collection", "keel", "--cells", str(tmp_path / "cells.jsonl"), "--methods", "forest"])


def test_a_table_of_another_collection_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="bupa is not in the collection parquet, which has blood_transfusion, "):
        command.main(["--tables", "bupa", "--cells", str(tmp_path / "cells.jsonl")])


def test_no_table_is_in_the_other_collection():
    assert list(KEEL_TABLES) == sorted(KEEL_TABLES)
    other_names = {"australian", "crx", "german", "pima", "titanic"}  # of credit, german_numer, diabetes and titanic
    assert not ({name.removeprefix("keel_") for name in TABLES} | other_names) & set(KEEL_TABLES)


def test_tables_of_the_package_have_the_stated_classes_and_enough_rows():
    try:
        folder = keel_tables.keel_folder(None)
    except MissingData as error:
        pytest.skip(str(error))
    for name, table in KEEL_TABLES.items():
        labels = keel_tables.read_columns(folder, name).labels
        assert len(set(labels.tolist())) == table.n_classes, name
        assert len(labels) >= 150, name
        assert min(Counter(labels.tolist()).values()) >= 0.05 * len(labels) or table.n_classes > 2, name
