"""Monitored and stopped fits, and the choice of lambda."""

import threading
import weakref

import numpy as np
import pytest

import core
from core.forests.tuning import Selection, choose_lambda


class Recorder:
    """Monitor that records its calls and may stop the fit after some trees."""

    def __init__(self, stop_after=None):
        self.stop_flag = np.zeros(1, dtype=np.uint8)
        self.calls = []
        self.stop_after = stop_after

    def begin(self, phase, total, unit):
        self.calls.append((phase, total, unit))

    def advance(self, completed):
        self.calls.append(completed)
        if completed == self.stop_after:
            self.stop_flag[0] = 1


def noisy_xor(n_rows=800, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    return X, ((X[:, 0] > 0) ^ (X[:, 1] > 0)) ^ (rng.random(n_rows) < 0.2)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_counts_each_tree_once(n_jobs):
    X, y = noisy_xor(200)
    monitor = Recorder()
    core.ForestClassifier(n_estimators=6, n_jobs=n_jobs).fit(X, y, monitor=monitor)
    assert monitor.calls == [("growing", 6, "trees"), 1, 2, 3, 4, 5, 6]


def test_single_tree_is_one_unit_of_progress():
    X, y = noisy_xor(200)
    monitor = Recorder()
    core.TreeClassifier().fit(X, y, monitor=monitor)
    assert monitor.calls == [("growing", 1, "trees"), 1]


@pytest.mark.parametrize(
    ("selection", "refit"), [("out_of_bag", []), ("auto", []), ("holdout", [("growing", 3, "trees"), 1, 2, 3])]
)
def test_tuning_is_a_separate_phase_and_the_only_one_out_of_bag(selection, refit):
    X, y = noisy_xor(200)
    monitor = Recorder()
    loss = {"kind": "adaptive_ne", "grid": [0, 1], "selection": selection}
    core.ForestClassifier(n_estimators=3, loss=loss).fit(X, y, monitor=monitor)
    assert monitor.calls == [("tuning", 6, "trees"), *range(1, 7), *refit]


@pytest.mark.parametrize("kind", ["tree", "forest"])
@pytest.mark.parametrize("loss", ["gini", "ane", {"kind": "ane", "selection": "holdout"}], ids=str)
def test_phases_are_known_before_the_fit(kind, loss):
    X, y = noisy_xor(100)
    monitor = Recorder()
    estimator = core.ESTIMATORS[kind](loss=loss)
    expected = estimator.phases()
    estimator.fit(X, y, monitor=monitor)
    assert [entry[:2] for entry in monitor.calls if isinstance(entry, tuple)] == list(expected.items())


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_stopped_fit_raises_and_sets_no_attribute(n_jobs):
    X, y = noisy_xor(200)
    forest = core.ForestClassifier(n_estimators=500, n_jobs=n_jobs)
    monitor = Recorder(stop_after=3)
    with pytest.raises(core.FitStopped) as stop:
        forest.fit(X, y, monitor=monitor)
    assert stop.value.code == "fit_stopped"
    assert not hasattr(forest, "trees_")
    assert len(monitor.calls) <= 1 + 3 + n_jobs


class StopsDuringFirstTree(Recorder):
    """Monitor that stops the fit during the growth of the first tree, but not before it begins."""

    def begin(self, phase, total, unit):
        super().begin(phase, total, unit)
        threading.Timer(0.05, self.stop_flag.fill, [1]).start()


def test_growth_of_a_single_tree_can_be_stopped():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150_000, 30)), rng.integers(0, 2, size=150_000)
    core.TreeClassifier(max_depth=2).fit(X[:100], y[:100])
    with pytest.raises(core.FitStopped):
        core.TreeClassifier().fit(X, y, monitor=StopsDuringFirstTree())


def test_error_in_the_monitor_ends_the_fit():
    class Broken(Recorder):
        def advance(self, completed):
            raise RuntimeError("no more disk")

    X, y = noisy_xor(200)
    with pytest.raises(RuntimeError, match="no more disk"):
        core.ForestClassifier(n_estimators=50, n_jobs=2).fit(X, y, monitor=Broken())


@pytest.mark.parametrize("kind", ["tree", "forest"])
def test_adaptive_ne_equals_ne_with_the_chosen_lambda(kind):
    X, y = noisy_xor()
    adaptive = core.ESTIMATORS[kind](loss="ane", random_state=0).fit(X, y)
    assert set(adaptive.tuning_scores_) == {0.0, 0.25, 0.5, 0.75, 1.0}
    best = max(adaptive.tuning_scores_.values())
    assert adaptive.lambda_ == max(k for k, score in adaptive.tuning_scores_.items() if score == best)
    plain = core.ESTIMATORS[kind](loss={"kind": "ne", "lambda": adaptive.lambda_}, random_state=0).fit(X, y)
    assert plain.predict_proba(X).tobytes() == adaptive.predict_proba(X).tobytes()
    assert repr(adaptive.loss_) == repr(plain.loss_)


def test_adaptive_ne_scores_equal_those_of_a_fit_on_the_training_part():
    X, y = noisy_xor()
    fraction = 0.3
    loss = {"kind": "ane", "grid": [0.5], "validation_fraction": fraction}
    adaptive = core.TreeClassifier(loss=loss, random_state=9).fit(X, y)
    train, test = core.split_holdout(y, fraction, random_state=9)
    plain = core.TreeClassifier(loss="ne", random_state=9).fit(X[train], y[train])
    assert adaptive.tuning_scores_[0.5] == pytest.approx(plain.score(X[test], y[test]), abs=0.03)


def test_adaptive_ne_with_too_few_rows_for_a_holdout():
    for n_rows in [1, 2, 3]:
        X, y = np.arange(n_rows)[:, np.newaxis], np.arange(n_rows)
        core.TreeClassifier(loss="ane", random_state=0).fit(X, y)
        core.ForestClassifier(loss="ane", n_estimators=1, random_state=0).fit(X, y)


def test_trees_of_a_candidate_are_freed_before_the_next_candidate_is_grown():
    earlier = []

    def grow(candidate, weights):
        assert not any(array() is not None for array in earlier)
        array = np.zeros(1)
        earlier.append(weakref.ref(array))
        return (array,)

    selection = Selection(np.ones(1), grows_the_fit=False, accuracy=lambda trees, vote: 0.5)
    tuned = choose_lambda(core.AdaptiveNegativeExponential().tuning, grow, selection)
    assert len(earlier) == 5
    assert tuned.trees is None


def test_robust_loss_is_more_accurate_than_entropy_on_noisy_labels():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 4))
    clean = (X[:, 0] > 0).astype(int)
    noisy = core.inject_noise(clean[:4000], {"kind": "uniform", "rate": 0.3}, random_state=0).labels
    scores = {
        loss: core.TreeClassifier(loss=loss).fit(X[:4000], noisy).score(X[4000:], clean[4000:])
        for loss in ["entropy", "misclassification"]
    }
    assert scores["misclassification"] > scores["entropy"] + 0.1
