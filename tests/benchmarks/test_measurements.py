"""Benchmarks of speed and accuracy, run on tables of a few rows; times are not asserted."""

import argparse
import importlib
import pkgutil
import re

import numpy as np
import pytest

import benchmarks
import core
from benchmarks.__main__ import parse_arguments
from benchmarks.accuracy import (
    categorical,
    corrected_accuracy,
    few_rows,
    groups,
    misspelled_labels,
    noise_coverage,
    reliability,
)
from benchmarks.comparison import collection
from benchmarks.data import Table
from benchmarks.programs import PROGRAMS
from benchmarks.settings import Settings
from benchmarks.speed import automatic, boosting, fit, growth, losses, other_forests, predict, scaling

MODULES = [module.name for module in pkgutil.walk_packages(benchmarks.__path__, "benchmarks.")]


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(0)
    y = np.arange(150) % 3
    X = (y[:, np.newaxis] + generator.normal(size=(150, 4))).astype(np.float32)
    return Table("small", X, y, X[:30], y[:30])


@pytest.fixture
def settings(tmp_path):
    return Settings(tmp_path, repeats=1, trees=2, jobs=1, rows=150)


@pytest.mark.parametrize("name", MODULES)
def test_module_can_be_imported(name):
    importlib.import_module(name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_arguments_of_quick_runs_are_accepted(name, tmp_path, monkeypatch):
    program = importlib.import_module(PROGRAMS[name].module)
    monkeypatch.setattr("sys.argv", [name, *PROGRAMS[name].quick_words(tmp_path)])
    if hasattr(program, "parse_arguments"):
        assert isinstance(program.parse_arguments(), argparse.Namespace)


def test_unknown_benchmarks_are_refused(capsys):
    with pytest.raises(SystemExit):
        parse_arguments(["fitt"])
    assert "'fitt' is not a benchmark" in capsys.readouterr().err


@pytest.mark.parametrize("number", range(len(fit.WORKLOADS)))
def test_fits_are_compared_with_scikit_learn(number, table, settings):
    workload = fit.WORKLOADS[number]
    row = fit.compare("fit", workload, workload.pair(settings, workload.criterion), table, 1)
    assert len(row.values) == 1
    assert row.markdown().startswith("| fit |")


def test_losses_are_compared_with_gini(table, settings):
    assert "our gini" in losses.compare("loss", "ne", table, settings).markdown()


def test_predictions_are_compared_for_many_rows_and_one(table, settings, monkeypatch):
    monkeypatch.setattr(predict, "MANY_ROWS", 60)
    monkeypatch.setattr(predict, "CALLS_ONE_ROW", (2, 2))
    assert len(list(predict._table_rows(table, settings))) == 4


def test_the_automatic_model_is_compared_with_a_forest(table, settings, monkeypatch):
    monkeypatch.setattr(automatic, "CALLS", {"60 rows": (60, 2)})
    (predictions,) = automatic.compare(table, "small", settings)
    assert predictions.note.startswith("the fit takes ")
    assert predictions.workload == "auto: predict_proba, 60 rows, small"
    assert predictions.values[0] > 0


def test_growth_of_fit_times_has_a_row_for_each_doubling(settings, monkeypatch):
    monkeypatch.setattr(scaling, "SIZES", (100, 200, 400))
    assert len(list(scaling.rows(settings._replace(rows=100)))) == 2


def test_boosters_are_compared_with_adaboost(table, settings, monkeypatch):
    monkeypatch.setattr(boosting, "N_ROUNDS", 3)
    two_classes = table._replace(y=table.y % 2, y_test=table.y_test % 2)
    assert boosting.compare_with_adaboost("adaboost", two_classes, settings).values


@pytest.mark.parametrize("library", other_forests.FORESTS)
def test_forests_of_other_libraries_are_compared(library, table, settings):
    pytest.importorskip(library.lower())
    assert other_forests.compare(library, table, settings).values


def test_growth_is_measured_in_processor_seconds():
    cells = [{"model": "forest, Gini", "rows": 300, **growth.measure("forest, Gini", 300, 0)}]
    assert list(growth.least_seconds(cells)) == [("forest, Gini", 300)]
    assert any(line.startswith("| forest, Gini | 0.") for line in growth.table_lines(cells))


def test_corrected_accuracies_have_a_deviation_per_column(table):
    case = corrected_accuracy.noisy_case(table.X, table.y, {"kind": "uniform", "rate": 0.2}, seed=0)
    deviations = np.array([corrected_accuracy.measure(case, seed=0, jobs=1)])
    assert deviations.shape == (1, 5, 2)
    assert corrected_accuracy.line(deviations).count("|") == 8


def test_noise_coverage_counts_cells_of_every_repeat(table):
    rates, cells = noise_coverage.measure(table.X, table.y, {"kind": "uniform", "rate": 0.2}, repeats=2, jobs=1)
    assert rates.absolute.shape == (2,)
    assert cells.absolute.shape == (2, 3, 3)


def test_misspelled_labels_are_wrong_ones(table):
    audited = misspelled_labels.measure(table.X, table.y, n_misspelled=3, repeats=2, jobs=1)
    assert audited.errors.shape == audited.found.shape == (2,)
    assert re.fullmatch(r"0\.\d{3}, \d+%", audited.cell())


def test_groups_and_reliability_print_one_line(table):
    noisy = core.inject_noise(table.y, {"kind": "uniform", "rate": 0.2}, random_state=0).labels
    assert groups.line("small", table.X, table.y, jobs=1).startswith("| small |")
    assert reliability.line("small", table.X, noisy, table.y, jobs=1).startswith("| small |")


def test_qualities_on_few_rows_are_counted_in_two_ways(table):
    rows = few_rows.with_frequent_classes(collection.Table(table.X.astype(float), table.y, []))
    assessed = few_rows.audit(few_rows.Sample(rows, seed=0), "uniform_20", jobs=1)
    assert [line.count("|") for line in assessed.lines("uniform")] == [13, 13]
    assert few_rows.HEADER.splitlines()[0].count("|") == 13
    flagged = assessed.averaged < 0.5
    shares = f"{100 * (1 - assessed.averaged[flagged]).mean():.1f}, {100 * assessed.is_wrong[flagged].mean():.1f}"
    assert assessed.lines("uniform")[0].startswith(f"| uniform | 150 | averaged | {shares} |")


def test_categories_are_compared_in_three_forms():
    assert len(categorical.accuracies(categorical.effects(0, "effects", n_rows=200), rate=0.2, seed=0)) == 7


def test_corrections_that_are_refused_are_not_counted():
    deviations = np.full((2, 5, 2), 0.01)
    deviations[0, 4] = np.nan
    assert corrected_accuracy.line(deviations).endswith("| 1.0, 1.0 | 100%")
    deviations[1, 4] = np.nan
    assert corrected_accuracy.line(deviations).endswith("| refused | –")
