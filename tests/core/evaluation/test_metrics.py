"""Metrics compared with scikit-learn and manual calculations; properties of splits and folds."""

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.svm import LinearSVC

import core
from core import service_api

UNIFORM = {"kind": "uniform", "rate": 0.3}


def fitted_forest(n_classes=3, n_rows=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    y = np.array(list("abcd"))[(X[:, :n_classes] + rng.normal(size=(n_rows, n_classes))).argmax(axis=1)]
    return core.ForestClassifier(n_estimators=10, max_depth=4, random_state=0).fit(X, y), X, y


def test_scores_are_listed():
    model, X, y = fitted_forest()
    assert set(core.evaluate(model, X, y)) == {*service_api.SCORES, "confusion"}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_metrics_equal_those_of_scikit_learn(n_classes):
    model, X, y = fitted_forest(n_classes)
    report = core.evaluate(model, X, y)
    p, predicted = model.predict_proba(X), model.predict(X)
    one_hot = (y[:, np.newaxis] == model.classes_).astype(float)
    expected = {
        "accuracy": metrics.accuracy_score(y, predicted),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, predicted),
        "weighted_f1": metrics.f1_score(y, predicted, average="weighted"),
        "macro_f1": metrics.f1_score(y, predicted, average="macro"),
        "log_loss": metrics.log_loss(y, p),
        "brier": ((p - one_hot) ** 2).sum(axis=1).mean(),
        "roc_auc": metrics.roc_auc_score(y, p[:, 1] if n_classes == 2 else p, multi_class="ovr"),
        "n_rows": len(y),
        "confusion": metrics.confusion_matrix(y, predicted, labels=model.classes_).tolist(),
    }
    assert report.pop("confusion") == expected.pop("confusion")
    assert report == pytest.approx(expected)
    json.dumps(report, allow_nan=False)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 4))
def test_metrics_with_ties_and_unpredicted_classes(seed, n_classes, n_levels):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, size=20)])
    votes = rng.integers(1, n_levels + 1, size=(len(codes), n_classes)) * (rng.random(n_classes) < 0.7) + 0.01
    p = votes / votes.sum(axis=1, keepdims=True)

    class Voter:
        classes_ = np.arange(n_classes)

        def predict_proba(self, X):
            return p

    report = core.evaluate(Voter(), p, codes)
    if n_classes == 2:
        assert report["roc_auc"] == pytest.approx(concordance(codes == 1, p[:, 1]))
    else:
        class_aucs = [concordance(codes == k, p[:, k]) for k in range(n_classes)]
        assert report["roc_auc"] == pytest.approx(np.mean(class_aucs))
    f1 = class_f1_scores(codes, p.argmax(axis=1), n_classes)
    assert report["macro_f1"] == pytest.approx(np.mean(f1))
    assert report["weighted_f1"] == pytest.approx(np.average(f1, weights=np.bincount(codes)))


def concordance(is_positive, scores):
    """Return the fraction of pairs in which the positive row has the higher score; ties count one half."""
    differences = scores[is_positive][:, np.newaxis] - scores[~is_positive]
    return (np.sign(differences) + 1).mean() / 2


def class_f1_scores(codes, predicted, n_classes):
    """Return 2 true positives / (true + predicted rows) of each class; every class occurs."""
    true_positives = [np.sum((codes == k) & (predicted == k)) for k in range(n_classes)]
    return [2 * true_positives[k] / (np.sum(codes == k) + np.sum(predicted == k)) for k in range(n_classes)]


def test_metrics_without_a_class_in_the_test_set_contain_no_nan():
    model, X, y = fitted_forest()
    report = core.evaluate(model, X[y == "a"][:5], y[y == "a"][:5])
    assert report["roc_auc"] is None
    assert report["n_rows"] == sum(report["confusion"][0]) == 5
    json.dumps(report, allow_nan=False)


def test_log_loss_of_certain_wrong_predictions_is_finite():
    model = core.TreeClassifier().fit([[0.0], [1.0]], ["n", "y"])
    report = core.evaluate(model, [[0.0], [1.0]], ["y", "n"])
    assert report["accuracy"] == 0
    assert report["brier"] == 2
    assert 30 < report["log_loss"] < 40


def test_evaluation_of_a_single_class():
    report = core.evaluate(core.TreeClassifier().fit([[0.0], [1.0]], ["n", "n"]), [[0.0]], ["n"])
    assert report["confusion"] == [[1]]
    assert report["roc_auc"] is None


def test_evaluation_with_an_unpredicted_class():
    """The tree has two leaves for three classes, so one class is never predicted."""
    model = core.TreeClassifier().fit([[0.0]] * 3 + [[1.0]] * 3, list("aacbbc"))
    report = core.evaluate(model, [[0.0], [1.0], [1.0]], list("abc"))
    assert report["accuracy"] == pytest.approx(2 / 3)
    assert report["balanced_accuracy"] == pytest.approx(2 / 3)
    assert report["macro_f1"] == pytest.approx((1 + 2 / 3 + 0) / 3)
    assert report["confusion"] == [[1, 0, 0], [0, 1, 0], [0, 1, 0]]
    json.dumps(report, allow_nan=False)


def test_confusion_matrix_has_the_requested_classes():
    """The model lacks the class "b"; "z" is in neither the model nor `classes` and is placed last."""
    model = core.TreeClassifier().fit([[0.0], [1.0]], ["a", "c"])
    classes = np.array(["a", "b", "c"])
    report = core.evaluate(model, [[0.0], [1.0], [1.0], [0.0]], ["a", "b", "c", "z"], classes)
    assert report["confusion"] == [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0], [1, 0, 0, 0]]
    assert report["brier"] == pytest.approx((0 + 2 + 0 + 2) / 4)
    assert report["roc_auc"] is None
    both = core.evaluate(model, [[0.0], [1.0]], ["a", "c"], classes)
    assert (both["roc_auc"], both["confusion"]) == (1.0, [[1, 0, 0], [0, 0, 0], [0, 0, 1]])


def test_classes_without_a_class_of_the_model_are_rejected():
    model, X, y = fitted_forest()
    with pytest.raises(core.InvalidInput, match="lacks 1 of the model's"):
        core.evaluate(model, X, y, classes=np.array(["a", "b"]))


def test_unknown_labels_count_as_errors():
    model, X, y = fitted_forest()
    known = core.evaluate(model, X[:3], y[:3])
    report = core.evaluate(model, X[:4], [*y[:3], "z"])
    assert report["accuracy"] == pytest.approx(known["accuracy"] * 3 / 4)
    assert len(report["confusion"]) == 4
    assert sum(report["confusion"][3]) == 1
    assert [row[3] for row in report["confusion"]] == [0, 0, 0, 0]
    assert report["roc_auc"] is None
    json.dumps(report, allow_nan=False)


def test_empty_data_are_rejected():
    model, X, _ = fitted_forest()
    with pytest.raises(core.InvalidInput, match="no rows"):
        core.evaluate(model, X[:0], [])
    with pytest.raises(core.InvalidInput, match="y has no labels"):
        core.split_holdout([], 0.5)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [(core.TreeClassifier(), "TreeClassifier, which is not fitted"), (LinearSVC(), "LinearSVC.*no predict_proba")],
)
def test_estimators_that_cannot_be_evaluated_are_refused(estimator, message):
    with pytest.raises(core.InvalidParameter, match=message):
        core.evaluate(estimator, [[0.0], [1.0]], [0, 1])


def test_spread_of_scores_equals_manual_calculation():
    """A score that is missing in some reports is averaged over the others; rows and confusion matrices are summed."""
    reports = [
        {"accuracy": 0.5, "roc_auc": None, "log_loss": 1.0, "n_rows": 2, "confusion": [[1, 0], [1, 0]]},
        {"accuracy": 1.0, "roc_auc": 0.75, "log_loss": 1.0, "n_rows": 3, "confusion": [[2, 0], [0, 1]]},
        {"accuracy": 0.75, "roc_auc": None, "log_loss": 4.0, "n_rows": 4, "confusion": [[2, 1], [0, 1]]},
    ]
    spread = core.spread_of_scores(reports)
    counts = {"n_rows": 9, "confusion": [[5, 1], [1, 2]]}
    assert spread.mean == {"accuracy": 0.75, "roc_auc": 0.75, "log_loss": 2.0, **counts}
    assert spread.sd == pytest.approx({"accuracy": 0.25, "roc_auc": None, "log_loss": np.sqrt(3)})
    single = core.spread_of_scores(reports[:1])
    assert single.mean == reports[0]
    assert set(single.sd.values()) == {None}


@given(
    counts=st.lists(st.integers(1, 30), min_size=1, max_size=5),
    n_folds=st.integers(2, 12),
    seed=st.integers(0, 100),
)
def test_folds_test_each_row_once_and_are_stratified(counts, n_folds, seed):
    y = np.repeat(np.arange(len(counts)), counts)
    assume(len(y) >= n_folds)
    folds = core.split_folds(y, n_folds, seed)
    assert sorted(np.concatenate([fold.test_rows for fold in folds])) == list(range(len(y)))
    for fold in folds:
        assert sorted([*fold.train_rows, *fold.test_rows]) == list(range(len(y)))
        assert set(y[fold.train_rows]) >= {k for k, n in enumerate(counts) if n > 1}
    test_counts = np.array([np.bincount(y[fold.test_rows], minlength=len(counts)) for fold in folds])
    assert np.ptp(test_counts, axis=0).max() <= 1
    assert np.ptp(test_counts.sum(axis=1)) <= 1
    assert len({fold.seed for fold in folds}) == n_folds


def test_seed_determines_the_rows_of_a_fold():
    y = np.arange(60) % 3
    parts = [[fold.test_rows.tolist() for fold in core.split_folds(y, 4, seed)] for seed in (1, 1, 2)]
    assert parts[0] == parts[1]
    assert parts[0] != parts[2]
    assert core.split_folds(y, 4, 1)[2].seed == core.split_folds(y, 5, 1)[2].seed != core.split_folds(y, 4, 2)[2].seed


def test_repeated_holdouts_use_different_seeds():
    y = np.arange(60) % 3
    repeats = list(core.repeated_holdouts(y, 0.25, 4, random_state=1))
    for repeat in repeats:
        single = core.split_holdout(y, 0.25, random_state=repeat.seed)
        np.testing.assert_array_equal(repeat.train_rows, single.train_rows)
        np.testing.assert_array_equal(repeat.test_rows, single.test_rows)
        assert np.bincount(y[repeat.test_rows]).tolist() == [5, 5, 5]
    assert len({tuple(repeat.test_rows) for repeat in repeats}) == 4
    flips = [core.inject_noise(y[:45], UNIFORM, random_state=repeat.seed).flipped for repeat in repeats]
    assert len({tuple(flipped) for flipped in flips}) == 4


def test_more_repeats_start_with_the_same_splits():
    y = np.arange(30) % 2
    seeds = {seed: [repeat.seed for repeat in core.repeated_holdouts(y, 0.5, 5, seed)] for seed in (1, 2)}
    assert [repeat.seed for repeat in core.repeated_holdouts(y, 0.5, 2, 1)] == seeds[1][:2]
    assert not set(seeds[1]) & set(seeds[2])
    assert not set(seeds[1]) & {fold.seed for fold in core.split_folds(y, 5, 1)}


@pytest.mark.parametrize("n_folds", [-1, 0, 1, 5])
def test_invalid_numbers_of_folds_are_rejected(n_folds):
    with pytest.raises(core.InvalidParameter, match="n_folds"):
        core.split_folds([0, 1, 0, 1], n_folds)


@given(
    counts=st.lists(st.integers(1, 30), min_size=1, max_size=5),
    fraction=st.floats(0.01, 0.99),
    stratify=st.booleans(),
    seed=st.integers(0, 100),
)
def test_splits_cover_each_row_once_and_are_stratified(counts, fraction, stratify, seed):
    y = np.repeat(np.arange(len(counts)), counts)
    train, test = core.split_holdout(y, fraction, stratify, seed)
    assert sorted([*train, *test]) == list(range(len(y)))
    assert len(test) == min(max(round(fraction * len(y)), 1), len(y) - 1)
    if stratify:
        test_counts, class_counts = np.bincount(y[test], minlength=len(counts)), np.array(counts)
        expected = class_counts * len(test) / len(y)
        if (expected <= class_counts - 1).all():
            assert (abs(test_counts - expected) < 1).all()
        if len(train) >= len(counts):
            assert (test_counts < class_counts).all()
    repeated = core.split_holdout(y, fraction, stratify, seed)
    assert repeated.test_rows.tolist() == test.tolist()


@pytest.mark.parametrize("fraction", [0, 1, -0.5, 2, float("nan")])
def test_invalid_test_fractions_are_rejected(fraction):
    with pytest.raises(core.InvalidParameter, match="test_fraction"):
        core.split_holdout([0, 1], fraction)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["0", "1", "0", "1"], "convert y to the type of the labels of the fit"),
        ([0.0, 1.0, float("nan"), 1.0], "y contains NaN or None in 1 of 4 rows"),
        ([0, 1], "X has 4 rows and y has 2 labels"),
    ],
)
def test_labels_that_cannot_be_evaluated_are_refused(given, message):
    X, y = [[0.0], [1.0], [0.0], [1.0]], [0, 1, 0, 1]
    with pytest.raises(core.InvalidInput, match=message):
        core.evaluate(core.TreeClassifier().fit(X, y), X, given)
