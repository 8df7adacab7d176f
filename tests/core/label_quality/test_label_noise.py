"""Noise of the labels of a table, and the accuracy of models on the true labels behind them."""

import warnings

import numpy as np
import pytest

import core
from core import service_api
from core.label_quality import label_noise


def blobs(n_rows=1200, seed=0):
    rng = np.random.default_rng(seed)
    clean = np.arange(n_rows) % 3
    X = rng.normal(size=(n_rows, 4)) + 2.5 * np.eye(3, 4)[clean]
    return X, clean


def noisy_blobs(rate=0.3, seed=0, n_rows=1200):
    X, clean = blobs(n_rows, seed)
    return X, clean, core.inject_noise(clean, {"kind": "uniform", "rate": rate}, random_state=seed).labels


def forest(seed=0):
    return core.ForestClassifier(loss="ne", n_estimators=30, random_state=seed)


@pytest.mark.parametrize("transition", [None, core.TransitionMatrix.uniform(0.3, [0, 1, 2])])
def test_corrected_accuracy_of_a_holdout_is_near_the_true_one(transition):
    X, clean, noisy = noisy_blobs()
    train, test = core.split_holdout(noisy, 0.25, random_state=0)
    predicted = forest().fit(X[train], noisy[train]).predict(X[test])
    noise = core.estimate_label_noise(X[train], noisy[train], transition, random_state=0)
    result = noise.accuracy_on(X[test], noisy[test], predicted)
    true = np.mean(predicted == clean[test])
    assert np.mean(predicted == noisy[test]) < true - 0.2
    assert abs(result.accuracy - true) < min(2 * result.standard_error, 0.05)
    assert result.standard_error < 0.05
    class_errors = [np.mean(predicted[clean[test] == k] != k) for k in range(3)]
    assert np.all(np.abs(result.class_errors - class_errors) < 2.5 * result.class_standard_errors)


def test_corrected_accuracy_of_folds_uses_votes_that_have_not_seen_the_row():
    X, clean, noisy = noisy_blobs()
    predicted = np.empty_like(noisy)
    for fold in core.split_folds(noisy, 4, random_state=1):
        predicted[fold.test_rows] = forest().fit(X[fold.train_rows], noisy[fold.train_rows]).predict(X[fold.test_rows])
    result = core.estimate_label_noise(X, noisy, random_state=1).accuracy_on_own_rows(predicted)
    assert abs(result.accuracy - np.mean(predicted == clean)) < min(2 * result.standard_error, 0.04)


def test_labels_that_contradict_the_votes_decide():
    """Perfect predictions are better than the forest can know."""
    X, clean, noisy = noisy_blobs(rate=0.1)
    noise = core.estimate_label_noise(X, noisy, random_state=0)
    assert np.mean(noise.fitted.rows.probabilities.argmax(axis=1) == clean) < 0.95
    assert abs(noise.accuracy_on_own_rows(clean).accuracy - 1.0) < 0.02


def test_other_rows_may_have_other_noise():
    X, clean, noisy = noisy_blobs(rate=0.3)
    train, test = np.arange(800), np.arange(800, 1200)
    noise = core.estimate_label_noise(X[train], noisy[train], random_state=0).for_other_labels(X[test], clean[test])
    assert noise.estimate.noise_rate < 0.05
    predicted = forest().fit(X[train], noisy[train]).predict(X[test])
    assert abs(noise.accuracy_on_own_rows(predicted).accuracy - np.mean(predicted == clean[test])) < 0.03


def test_the_same_seed_gives_the_same_estimate_for_any_number_of_threads():
    X, _, noisy = noisy_blobs(n_rows=300)
    first, second = (core.estimate_label_noise(X, noisy, random_state=5, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert first.estimate.transition == second.estimate.transition
    assert first.fitted.rows.probabilities.tobytes() == second.fitted.rows.probabilities.tobytes()


@pytest.mark.parametrize("is_grouped", [False, True])
def test_at_most_so_many_rows_are_used(monkeypatch, is_grouped):
    monkeypatch.setattr(label_noise, "MAX_ROWS", 300)
    X, clean, noisy = noisy_blobs(rate=0.1, n_rows=900)
    groups = np.arange(900) // 4
    noise = core.estimate_label_noise(X, noisy, groups=groups if is_grouped else None, random_state=0)
    assert len(noise.row_numbers) == len(noise.fitted.rows.codes) == 300
    assert np.all(np.diff(noise.row_numbers) > 0)
    assert np.array_equal(noise.fitted.rows.codes, noisy[noise.row_numbers])
    assert (len(np.unique(groups[noise.row_numbers])) == 75) == is_grouped
    assert abs(noise.accuracy_on_own_rows(clean).accuracy - 1.0) < 0.08


def test_groups_keep_copies_of_a_row_from_vouching_for_its_label():
    X, _, noisy = noisy_blobs(n_rows=300)
    original = np.repeat(np.arange(300), 3)
    plain = core.estimate_label_noise(X[original], noisy[original], random_state=0)
    grouped = core.estimate_label_noise(X[original], noisy[original], groups=original, random_state=0)
    wrong = np.mean(noisy != np.arange(300) % 3)
    assert abs(grouped.estimate.noise_rate - wrong) < 0.05 < abs(plain.estimate.noise_rate - wrong)


def test_classes_without_rows_keep_their_place():
    X, _, noisy = noisy_blobs(n_rows=300)
    noise = core.estimate_label_noise(X, noisy, classes=np.arange(5), random_state=0)
    assert noise.estimate.transition.rows.shape == (5, 5)
    assert noise.fitted.rows.probabilities.shape == (300, 5)
    assert noise.accuracy_on_own_rows(np.full(300, 4)).accuracy < 0.1


def test_the_monitor_sees_the_announced_phase():
    class Recorder:
        def __init__(self):
            self.stop_flag, self.phases = np.zeros(1, dtype=np.uint8), {}

        def begin(self, phase, total, unit):
            self.phases[phase] = total

        def advance(self, completed):
            pass

    X, _, noisy = noisy_blobs(n_rows=100)
    recorder = Recorder()
    core.estimate_label_noise(X, noisy, random_state=0, monitor=recorder)
    assert recorder.phases == service_api.label_noise_phases()


def test_too_few_rows_and_unusable_matrices_are_refused():
    X, _, noisy = noisy_blobs(n_rows=300)
    with pytest.raises(core.InvalidInput, match="15 rows of 3 classes are too few"):
        core.estimate_label_noise(X[:15], noisy[:15])
    with pytest.raises(core.InvalidNoise, match="condition number"):
        core.estimate_label_noise(X, noisy, np.full((3, 3), 1 / 3))
    noise = core.estimate_label_noise(X, noisy, random_state=0)
    with pytest.raises(core.InvalidInput, match="y_pred has 2 predictions"):
        noise.accuracy_on_own_rows([0, 1])
    with pytest.raises(core.InvalidInput, match="y contains 7"):
        noise.accuracy_on(X[:2], [0, 7], [0, 1])


@pytest.mark.parametrize("n_rows", [60, 200])
def test_noise_of_labels_that_features_do_not_predict_is_not_identified(n_rows):
    rng = np.random.default_rng(2 if n_rows == 60 else 1)
    X, y = rng.normal(size=(n_rows, 6)), rng.integers(0, 2, n_rows)
    audit = core.audit_labels(X, y, random_state=2 if n_rows == 60 else 1)
    assert "do not evidently predict" in audit.noise.identification.warning
    assert not audit.issues.is_issue.any()
    np.testing.assert_array_equal(audit.issues.suggested, y)
    assert audit.noise.noise_rate_error == 0.5
    with pytest.raises(core.InvalidInput, match="cannot be told apart"):
        core.estimate_label_noise(X, y, random_state=3).accuracy_on_own_rows(y)
    given = core.estimate_label_noise(X, y, core.TransitionMatrix.uniform(0.1, [0, 1]), random_state=3)
    assert given.estimate.identification.warning is None


@pytest.mark.parametrize("share", [0.65, 1.0])
def test_labels_of_swapped_classes_have_no_corrected_accuracy(share):
    X, clean = blobs()
    swapped = np.where(np.random.default_rng(0).random(len(clean)) < share, (clean + 1) % 3, clean)
    train, test = np.arange(800), np.arange(800, 1200)
    noise = core.estimate_label_noise(X[train], clean[train], random_state=0).for_other_labels(X[test], swapped[test])
    assert not noise.estimate.identification.is_identified
    with pytest.raises(core.InvalidInput, match="check that the labels belong to these rows"):
        noise.accuracy_on_own_rows(clean[test])


def test_much_noise_is_identified():
    X, _, noisy = noisy_blobs(rate=0.45)
    identification = core.estimate_label_noise(X, noisy, random_state=0).estimate.identification
    assert identification.is_identified
    assert identification.warning is None


def test_tables_and_labels_of_different_lengths_are_refused():
    X, _, noisy = noisy_blobs(n_rows=200)
    noise = core.estimate_label_noise(X, noisy, random_state=0)
    with pytest.raises(core.InvalidInput, match="X has 200 rows and y 150 labels"):
        core.estimate_label_noise(X, noisy[50:])
    with pytest.raises(core.InvalidInput, match="X is a mapping"):
        core.estimate_label_noise({"a": X[:, 0]}, noisy)
    with pytest.raises(core.InvalidInput, match="X has 100 rows and y 200 labels"):
        noise.accuracy_on(X[:100], noisy, noisy)
    with pytest.raises(core.InvalidInput, match="X has 200 rows and y 100 labels"):
        noise.for_other_labels(X, noisy[:100])
    with pytest.raises(core.InvalidInput, match="400 predictions for a table of 200 rows"):
        noise.accuracy_on_own_rows(np.r_[noisy, noisy])


@pytest.mark.parametrize("make", ["pandas", "polars"])
def test_columns_of_frames_are_found_by_name(make):
    library = pytest.importorskip(make)
    X, _, noisy = noisy_blobs(n_rows=200)
    frame = library.DataFrame({f"x{j}": X[:, j] for j in range(4)})
    noise = core.estimate_label_noise(frame, noisy, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = noise.accuracy_on(frame, noisy, noisy)
    of_array = core.estimate_label_noise(X, noisy, random_state=0).accuracy_on(X, noisy, noisy)
    assert (result.accuracy, result.standard_error) == (of_array.accuracy, of_array.standard_error)
    with pytest.raises(core.InvalidInput, match="order"):
        noise.accuracy_on(frame[["x3", "x2", "x1", "x0"]], noisy, noisy)
