"""The tables of the papers, measured on tables of a few random rows."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from benchmarks.papers import loss_correction, minimax_boosting, published, running_times, tree_losses
from benchmarks.papers.published import Band, Estimate
from benchmarks.papers.xgboost_objectives import focal_loss, focal_potential


@pytest.fixture
def folder(tmp_path):
    """Return a folder with small tables under the names of the data sets."""
    for name, n_classes in {"covertype_sample92962": 3, "iris": 3, "german_numer": 2, "credit": 2}.items():
        generator = np.random.default_rng(0)
        y = np.arange(120) % n_classes
        columns = {f"x{j}": y + generator.normal(size=len(y)) for j in range(4)}
        parquet.write_table(pa.table({**columns, "target": y}), tmp_path / f"{name}.parquet")
    return tmp_path


def words(folder, *others):
    """Return arguments that read the tables of the folder."""
    return ["--data", str(folder), "--cells", str(folder / "cells"), *others]


def stored(folder):
    return [json.loads(line) for line in (folder / "cells").read_text().splitlines()]


def test_tree_losses_are_measured_once_per_draw(folder, capsys):
    chosen = ["--sets", "Covertype", "--tables", "table3", "--criteria", "CL", "ANE", "Ranking", "--draws", "2"]
    tree_losses.main(words(folder, *chosen))
    tree_losses.main(words(folder, *chosen))
    # Six noise models; CL on clean labels is the same in both draws; ranking needs two classes.
    assert len(stored(folder)) == 6 * 2 * 2 - 1
    assert "| Covertype | CL |" in capsys.readouterr().out


def test_published_tree_results_are_printed_beside_ours(folder, capsys, monkeypatch):
    rows = [{"data": "Covertype", "criterion": "CL", "mean": [0.0, 50.0], "two_sd": [1.0, 60.0]}]
    content = {"table2": {"noise": ["uniform 0", "uniform .1"], "rows": rows}}
    (folder / "robust_tree_losses.json").write_text(json.dumps(content))
    monkeypatch.setattr(published, "FOLDER", folder)
    tree_losses.main(words(folder, "--sets", "Covertype", "--tables", "table2", "--criteria", "CL", "--draws", "1"))
    line = next(text for text in capsys.readouterr().out.splitlines() if text.startswith("| Covertype | CL |"))
    assert "(0.0 ± 1.0) +" in line  # better than published
    assert "(50.0 ± 60.0) =" in line  # within the published spread


def test_data_sets_that_are_absent_are_skipped(folder, capsys):
    tree_losses.main(words(folder, "--sets", "MNIST", "--tables", "table2", "--criteria", "CL", "--draws", "1"))
    assert "mnist.train.parquet is not in" in capsys.readouterr().err


def test_loss_corrections_are_compared_with_scikit_learn(folder, capsys):
    loss_correction.main(words(folder, "--sets", "iris", "--rates", "20", "--only", "tree"))
    assert {cell["correction"] for cell in stored(folder)} == {"none", "forward", "backward", "scikit-learn"}
    # Uniform noise changes no order of classes in a leaf, so that forward correction changes no prediction.
    scores = {cell["correction"]: cell["f1"] for cell in stored(folder)}
    assert scores["none"] == scores["forward"]
    assert "| iris | 20 % | tree |" in capsys.readouterr().out


def test_boosters_report_error_and_risk(folder, capsys):
    minimax_boosting.main(
        words(folder, "--tables", "table3", "--sets", "german", "--only", "rmboost", "adaboost", "--partitions", "2")
    )
    methods = {(cell["method"], "risk" in cell) for cell in stored(folder)}
    assert methods == {("rmboost", True), ("adaboost", False)}
    assert "| uniform 20 % | rmboost: R | 2 |" in capsys.readouterr().out


def test_mean_ranks_and_increases_need_all_data_sets():
    case = {"table": "table3", "partitions": 2, "case": "clean", "method": "rmboost", "data": "german", "error": 1.0}
    assert list(minimax_boosting.table4_lines([case], {})) == []


def test_running_times_are_relative_to_the_fewest_rows(folder, capsys):
    running_times.main(words(folder, "--sizes", "40", "80", "--repeats", "1"))
    assert "| credit | adaboost |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("difference", "larger_is_better", "verdict"),
    [(2.0, True, "="), (-2.0, True, "="), (2.1, True, "+"), (-2.1, True, "−"), (2.1, False, "−"), (-2.1, False, "+")],
)
def test_verdict_of_a_band(difference, larger_is_better, verdict):
    band = Band(spreads=1.0, constant=1.0, larger_is_better=larger_is_better)
    assert band.verdict(Estimate(50.0 + difference, 9.0), Estimate(50.0, 1.0)) == verdict


def test_no_verdict_without_a_published_result():
    assert Band(1.0).verdict(Estimate(50.0, 1.0), None) == "·"


def test_derivatives_of_the_focal_loss_are_those_of_its_differences():
    margins, step = np.linspace(-3, 3, 13), 1e-4

    def loss(z):
        return focal_loss(1 / (1 + np.exp(-z)))

    first, second = focal_potential(margins)
    np.testing.assert_allclose(first, (loss(margins + step) - loss(margins - step)) / (2 * step), atol=1e-6)
    curvature = (loss(margins + step) - 2 * loss(margins) + loss(margins - step)) / step**2
    is_convex = curvature > 1e-3
    np.testing.assert_allclose(second[is_convex], curvature[is_convex], atol=1e-5)
    assert (second > 0).all()
