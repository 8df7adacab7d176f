"""Ranks, tests and diagrams of the comparison."""

import json
from itertools import combinations

import numpy as np
import pytest

from benchmarks.comparison import pictures
from benchmarks.comparison.methods import METHODS
from benchmarks.comparison.pictures import diagram, draw_pictures
from benchmarks.comparison.ranking import Comparison, compare, critical_difference, similar_groups
from benchmarks.comparison.report import report

ACCURACIES = {"forest": [0.9, 0.8, 0.7, 0.9], "LightGBM": [0.8, 0.8, 0.6, 0.8], "auto": [0.7, 0.6, 0.5, 0.95]}
TABLES = ["credit", "iris", "wdbc", "wine"]


def cell(method, table, accuracy, draw=0, noise="uniform_20"):
    return {
        "method": method, "table": table, "noise": noise, "draw": draw, "accuracy": accuracy, "fit_seconds": 0.5
    }  # fmt: skip


@pytest.fixture
def cells():
    return [
        cell(method, table, accuracy)
        for method, accuracies in ACCURACIES.items()
        for table, accuracy in zip(TABLES, accuracies, strict=True)
    ]


def test_ranks_and_wins_share_ties(cells):
    compared = compare(cells, TABLES)
    assert compared.methods == ["forest", "LightGBM", "auto"]
    np.testing.assert_allclose(compared.ranks(), [(1 + 1.5 + 1 + 2) / 4, (2 + 1.5 + 2 + 3) / 4, (3 + 3 + 3 + 1) / 4])
    assert compared.wins().tolist() == [3, 1, 1]


def test_accuracies_are_means_over_draws(cells):
    more = [cell(method, table, 0.5, draw=1) for method in ACCURACIES for table in TABLES]
    np.testing.assert_allclose(compare([*cells, *more], TABLES).accuracies[0], [0.7, 0.65, 0.6])


def test_probabilities_are_reported_where_they_were_measured(cells):
    scored = [{**one, "log_loss": 1.0 - one["accuracy"], "brier_score": 0.25} for one in cells]
    printed = "\n\n".join(report(scored, TABLES))
    assert "Mean log loss:\n\n| method | uniform, 20 % (4 tables) |\n| --- | --- |\n| forest | 0.175 |" in printed
    assert "Mean Brier score:\n\n" in printed
    assert not [word for word in report(cells, TABLES) if "log loss" in word or "Brier" in word]
    without = [{**one, "noise": "uniform_0"} for one in cells]
    assert "| method | uniform, 20 % (4 tables) |\n| --- | --- |\n| forest | 0.175 |" in "\n".join(
        report([*scored, *without], TABLES)
    )


def test_methods_without_all_tables_are_named_and_omitted(cells):
    compared = compare(cells[:-1], TABLES)
    assert (compared.methods, compared.incomplete) == (["forest", "LightGBM"], ["auto"])
    assert len(compared.tables) == 4
    assert "Measured in part: auto." in "\n".join(report(cells[:-1], TABLES))


def test_other_tables_do_not_count(cells):
    assert compare(cells, ["wdbc", "wine"]).accuracies.shape == (2, 3)


# Demšar 2006, table 5a (q at 0.05) and the example of section 3.2.2: 4 classifiers on 14 data sets.
@pytest.mark.parametrize(("n_methods", "quantile"), [(2, 1.960), (4, 2.569), (10, 3.164)])
def test_critical_difference_has_the_published_quantiles(n_methods, quantile):
    scale = np.sqrt(n_methods * (n_methods + 1) / (6 * 14))
    assert critical_difference(n_methods, 14) / scale == pytest.approx(quantile, abs=0.001)
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


@pytest.mark.parametrize("seed", range(20))
def test_bars_join_exactly_the_methods_within_the_critical_difference(seed):
    ranks = np.random.default_rng(seed).uniform(1, 8, 8)
    bars = similar_groups(ranks, 1.5)
    for one, other in combinations(ranks, 2):
        joined = any(low <= min(one, other) and max(one, other) <= high for low, high in bars)
        assert joined == (abs(one - other) <= 1.5)
    assert not any(a != b and a[0] <= b[0] and b[1] <= a[1] for a in bars for b in bars)


def test_friedman_test_requires_three_methods(cells):
    assert 0 < compare(cells, TABLES).p_value() < 1
    assert compare(cells[:8], TABLES).p_value() is None


def test_best_and_worst_methods_are_next_to_the_axis():
    methods = list(METHODS)[:5]
    accuracies = np.tile([0.5, 0.9, 0.6, 0.8, 0.7], (3, 1))
    drawn = diagram("uniform_0", Comparison(methods, TABLES[:3], accuracies, accuracies, accuracies, np.ones(5), []))
    sides = {(label.method, label.line, label.is_left) for label in drawn.labels}
    assert sides == {
        (methods[1], 0, True), (methods[3], 1, True), (methods[4], 2, True),
        (methods[0], 0, False), (methods[2], 1, False),
    }  # fmt: skip


def test_pictures_of_another_collection_have_a_name_of_their_own(tmp_path):
    path = tmp_path / "cells.jsonl"
    of_keel = [{**cell(method, "bupa", 0.8), "rows": 2000} for method in METHODS]
    path.write_text("".join(json.dumps(one) + "\n" for one in of_keel))
    words = ["--cells", str(path), "--folder", str(tmp_path), "--rows", "2000"]
    pictures.main([*words, "--collection", "keel"])
    assert {one.name for one in tmp_path.glob("*.svg")} == {"comparison_keel_dark.svg", "comparison_keel_light.svg"}
    with pytest.raises(SystemExit, match="no cells of the collection parquet with --rows 2000"):
        pictures.main(words)


def test_pictures_are_drawn_for_both_themes_and_repeat_byte_by_byte(cells, tmp_path):
    measured = {"uniform_20": compare(cells, TABLES)}
    drawn = []
    for name in ("once", "again"):
        (tmp_path / name).mkdir()
        draw_pictures(measured, tmp_path / name, "comparison")
        drawn.append({path.name: path.read_text() for path in (tmp_path / name).iterdir()})
    assert sorted(drawn[0]) == ["comparison_dark.svg", "comparison_light.svg"]
    assert drawn[0] == drawn[1]
    assert "LightGBM" in drawn[0]["comparison_light.svg"]
