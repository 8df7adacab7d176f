"""Groups of rows: how they are numbered and divided, and that no row has a vote of a model that has seen its group."""

from itertools import pairwise

import numpy as np
import pytest

import core
from core.groups import bootstrap_row_counts, design_effect, encode_groups
from core.randomness import SeedTree
from tests.core.growth.grown_trees import node_bytes


def mixed_groups(seed=0, n_rows=600, n_groups=60, n_classes=3):
    """Return features, labels and groups of random sizes; the last class is rare."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(n_groups, n_rows, p=rng.dirichlet(np.full(n_groups, 2.0)))
    codes = rng.choice(n_classes, n_rows, p=[0.6, 0.3, 0.1])
    X = np.column_stack([codes + rng.normal(size=n_rows), rng.normal(size=n_rows)])
    return X, codes, groups


def copies(n_rows=200, n_copies=3, seed=0):
    """Return rows with labels that no feature explains, each written several times, and the number of the original."""
    rng = np.random.default_rng(seed)
    original = np.repeat(np.arange(n_rows), n_copies)
    return rng.normal(size=(n_rows, 4))[original], rng.integers(0, 2, n_rows)[original], original


def are_disjoint(groups, parts):
    return all(not np.intersect1d(groups[a], groups[b]).size for a, b in pairwise([*parts, parts[0]]) if a is not b)


def test_groups_are_numbered_by_their_first_row():
    for values in (["b", "a", "b", "c"], [7.5, -1.0, 7.5, 3.0], np.array([(1, 2), 0, (1, 2), "x", None], object)[:4]):
        assert encode_groups(values, 4).tolist() == [0, 1, 0, 2]
    for values in ([(1, 2), (1, 3), (1, 2), (0,)], [1, "1", 1, 2]):
        assert encode_groups(values, 4).tolist() == [0, 1, 0, 2]
    assert encode_groups(None, 4) is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2, 3], r"groups has shape \(3,\); it must have one group per row, \(4,\)"),
        ([1.0, float("nan"), 2.0, 1.0], "missing in 1 of 4 rows, the first of which is row 1; every row needs a group"),
        (["a", "b", None, None], "missing in 2 of 4 rows, the first of which is row 2"),
        (["a", "b", float("nan"), "a"], "missing in 1 of 4 rows, the first of which is row 2"),
        (np.array(["2024-01-01", "NaT", "2024-01-01", "2024-01-02"], "datetime64[D]"), "missing in 1 of 4 rows"),
        (np.array(["a", ["b"], "a", "c"], object), r"contains \['b'\], which is not hashable"),
    ],
)
def test_unusable_groups_are_refused(values, message):
    with pytest.raises(core.InvalidInput, match=message):
        encode_groups(values, 4)


@pytest.mark.parametrize("seed", range(5))
def test_folds_and_holdouts_never_divide_a_group(seed):
    _, y, groups = mixed_groups(seed)
    folds = core.split_folds(y, 5, random_state=seed, groups=groups)
    assert are_disjoint(groups, [fold.test_rows for fold in folds])
    assert np.array_equal(np.sort(np.concatenate([fold.test_rows for fold in folds])), np.arange(len(y)))
    largest = np.bincount(groups).max()
    for k in range(3):
        counts = [np.count_nonzero(y[fold.test_rows] == k) for fold in folds]
        assert max(counts) - min(counts) <= largest
    for stratify in (True, False):
        split = core.split_holdout(y, 0.2, stratify, random_state=seed, groups=groups)
        assert are_disjoint(groups, [split.train_rows, split.test_rows])
        assert abs(len(split.test_rows) - 0.2 * len(y)) <= largest / 2
    for repeat in core.repeated_holdouts(y, 0.3, 3, random_state=seed, groups=groups):
        assert are_disjoint(groups, [repeat.train_rows, repeat.test_rows])


def test_groups_of_one_row_are_stratified_to_within_one_row():
    _, y, _ = mixed_groups()
    rows = np.arange(len(y))
    for fold in core.split_folds(y, 5, random_state=1, groups=rows):
        assert np.abs(np.bincount(y[fold.test_rows]) - np.bincount(y) / 5).max() < 1
    test = core.split_holdout(y, 0.25, random_state=1, groups=rows).test_rows
    assert np.abs(np.bincount(y[test]) - np.bincount(y) / 4).max() <= 1


def test_parts_do_not_depend_on_the_names_of_groups():
    _, y, groups = mixed_groups()
    names = np.random.default_rng(5).permutation(60)[groups]
    for a, b in zip(core.split_folds(y, 4, 0, groups), core.split_folds(y, 4, 0, names.astype(str)), strict=True):
        assert np.array_equal(a.test_rows, b.test_rows)


def test_every_part_has_a_group_even_if_a_group_is_larger_than_a_part():
    y, groups = np.arange(100) % 2, np.array([0] * 90 + [1] * 10)
    split = core.split_holdout(y, 0.01, random_state=0, groups=groups)
    assert (len(split.train_rows), len(split.test_rows)) == (90, 10)
    assert sorted(len(fold.test_rows) for fold in core.split_folds(y, 2, 0, groups)) == [10, 90]


@pytest.mark.parametrize(
    "divide",
    [
        lambda X, y, one: core.split_holdout(y, 0.2, groups=one),
        lambda X, y, one: core.split_folds(y, 2, groups=one),
        lambda X, y, one: core.audit_labels(X, y, groups=one),
        lambda X, y, one: core.audit_labels(X, y, core.TreeClassifier(), groups=one),
        lambda X, y, one: core.ForestClassifier(n_estimators=2, oob_score=True).fit(X, y, groups=one),
        lambda X, y, one: core.ForestClassifier(n_estimators=2, loss="adaptive_ne").fit(X, y, groups=one),
        lambda X, y, one: core.TreeClassifier(loss="adaptive_ne").fit(X, y, groups=one),
        lambda X, y, one: core.TreeClassifier(correction={"kind": "forward", "transition": "estimate"}).fit(
            X, y, groups=one
        ),
    ],
)
def test_a_single_group_is_refused_where_rows_are_left_out(divide):
    X, y, _ = mixed_groups()
    with pytest.raises(core.InvalidInput, match=r"groups has one distinct value in 600 rows; .* at least two groups"):
        divide(X, y, np.full(len(y), "only"))


def test_more_folds_than_groups_are_refused():
    _, y, groups = mixed_groups(n_groups=4)
    with pytest.raises(core.InvalidInput, match="groups has 4 distinct values; 5 parts need at least as many groups"):
        core.split_folds(y, 5, groups=groups)


def test_a_bootstrap_sample_draws_whole_groups_as_often_as_there_are_groups():
    _, _, groups = mixed_groups()
    weights = np.where(np.arange(600) % 3, 1.5, 0.0)
    for state in SeedTree(0).kernel_states(20):
        counts = bootstrap_row_counts(weights, groups, state)
        of_group = [np.unique(counts[groups == group]) for group in np.unique(groups)]
        assert all(len(values) == 1 for values in of_group)
        assert sum(float(values[0]) for values in of_group) == len(np.unique(groups[weights > 0]))


def test_groups_of_one_row_draw_the_same_samples_as_no_groups():
    X, y, _ = mixed_groups()
    forest = core.ForestClassifier(n_estimators=40, oob_score=True, random_state=2)
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    plain = core.ForestClassifier(**forest.get_params()).fit(X, y, weights)
    grouped = forest.fit(X, y, weights, groups=[f"row {row}" for row in range(len(y))])
    assert node_bytes(grouped) == node_bytes(plain)
    assert grouped.oob_decision_function_.tobytes() == plain.oob_decision_function_.tobytes()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_out_of_bag_votes_come_from_trees_that_have_not_seen_the_group(n_jobs):
    X, y, original = copies()
    weights = np.where(np.arange(len(y)) % 3 == 1, 0.0, 1.0)  # one copy of each row is not trained on
    forest = core.ForestClassifier(n_estimators=30, oob_score=True, random_state=0, n_jobs=n_jobs)
    votes = forest.fit(X, y, weights, groups=original).oob_decision_function_
    for copy in range(1, 3):
        assert np.array_equal(votes[copy::3], votes[::3], equal_nan=True)
    trees = forest.estimators_
    states = SeedTree(0).kernel_states(30)
    left_out = [bootstrap_row_counts(weights, encode_groups(original, len(y)), s.copy()) == 0 for s in states]
    expected = np.mean([tree.predict_proba(X[:1])[0] for tree, rows in zip(trees, left_out, strict=True) if rows[0]], 0)
    assert np.allclose(votes[0], expected)


def test_copies_of_rows_do_not_leak_into_out_of_bag_accuracy():
    """Labels are coin flips, so that no model is right more than half of the time on rows that it has not seen."""
    X, y, original = copies()
    forest = core.ForestClassifier(n_estimators=100, oob_score=True, random_state=0)
    assert forest.fit(X, y).oob_score_ > 0.85
    assert abs(forest.fit(X, y, groups=original).oob_score_ - 0.5) < 0.1


@pytest.mark.parametrize("loss", [{"kind": "adaptive_ne"}, {"kind": "adaptive_ne", "selection": "holdout"}])
def test_copies_of_rows_do_not_leak_into_the_choice_of_lambda(loss):
    X, y, original = copies()
    forest = core.ForestClassifier(n_estimators=30, loss=loss, random_state=0)
    assert max(forest.fit(X, y).tuning_scores_.values()) > 0.8
    assert max(forest.fit(X, y, groups=original).tuning_scores_.values()) < 0.72


@pytest.mark.parametrize("folds", [None, 4])
def test_an_audit_by_groups_finds_the_wrong_labels_of_copied_rows(folds):
    rng = np.random.default_rng(3)
    original = np.repeat(np.arange(300), 3)
    points = rng.normal(size=(300, 4))
    clean = (points[:, 0] > 0).astype(int)
    given = np.where(rng.random(300) < 0.2, 1 - clean, clean)
    X, y, wrong = points[original], given[original], (given != clean)[original]
    plain = core.audit_labels(X, y, folds=folds, random_state=0)
    grouped = core.audit_labels(X, y, folds=folds, random_state=0, groups=original)
    assert plain.issues.is_issue[wrong].mean() < 0.5
    assert grouped.issues.is_issue[wrong].mean() > 0.75
    assert abs(grouped.noise.noise_rate - wrong.mean()) < abs(plain.noise.noise_rate - wrong.mean())


def test_the_noise_estimate_of_a_correction_uses_groups():
    X, y, original = copies()
    correction = {"kind": "forward", "transition": "estimate"}
    tree = core.TreeClassifier(max_depth=2, correction=correction, random_state=0)
    plain = tree.fit(X, y).noise_estimate_
    y_noisier = tree.fit(X, y, groups=original).noise_estimate_
    assert plain.noise_rate < 0.2 < y_noisier.noise_rate


@pytest.mark.parametrize("booster", [core.AdaBoostClassifier, core.RMBoostClassifier])
def test_boosters_check_groups_which_do_not_change_the_fit(booster):
    X, y, original = copies(60)
    plain, grouped = booster(n_rounds=5, random_state=0), booster(n_rounds=5, random_state=0)
    assert node_bytes(plain.fit(X, y)) == node_bytes(grouped.fit(X, y, groups=original))
    with pytest.raises(core.InvalidInput, match="one group per row"):
        booster().fit(X, y, groups=original[1:])


def test_copies_of_rows_do_not_make_standard_errors_smaller():
    rng = np.random.default_rng(4)
    points = rng.normal(size=(300, 4))
    clean = (points[:, 0] > 0).astype(int)
    given = np.where(rng.random(300) < 0.2, 1 - clean, clean)
    original = np.repeat(np.arange(300), 3)
    once = core.audit_labels(points, given, random_state=0).noise
    copied = core.audit_labels(points[original], given[original], random_state=0, groups=original).noise
    assert 0.75 < copied.noise_rate_error / once.noise_rate_error < 1.5
    assert copied.misfit.excess == 0.0


def test_the_design_effect_of_copies_is_their_number():
    values = np.repeat(np.random.default_rng(0).normal(size=50), 4)
    assert design_effect(values, np.repeat(np.arange(50), 4)) == pytest.approx(4.0)
    assert design_effect(values, None) == 1.0
    assert design_effect(np.ones(6), np.arange(6) // 2) == 1.0
