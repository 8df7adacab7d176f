"""Boosters that minimax boosting is compared with, each checked against an independent computation."""

from functools import partial

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import core
from core.boosting import lpboost, minimax_rounds
from core.boosting.brownboost import _BrownianPotential
from core.boosting.robustboost import _RobustPotential
from core.boosting.rules import leaf_nodes
from core.boosting.timed_boosting import _step

BOOSTERS = [
    core.RMBoostClassifier,
    core.AdaBoostClassifier,
    core.LogitBoostClassifier,
    core.GentleBoostClassifier,
    core.LPBoostClassifier,
    core.BrownBoostClassifier,
    core.RobustBoostClassifier,
]


@pytest.fixture(params=BOOSTERS, ids=lambda booster: booster.__name__)
def booster(request):
    return request.param


def problem_without_ties(n_rows=220, seed=0):
    """Return few enough rows for exact bins, with distinct values and weights, so that no two splits tie."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows) > 0).astype(int)
    return X, y, rng.uniform(0.5, 1.5, n_rows)


def signed_labels(y):
    return np.where(y == 1, 1.0, -1.0)


def test_ada_boost_matches_scikit_learn():
    X, y, weights = problem_without_ties()
    ours = core.AdaBoostClassifier(n_rounds=25, max_leaf_nodes=5).fit(X, y, sample_weight=weights)
    base = DecisionTreeClassifier(max_leaf_nodes=5, random_state=0)
    theirs = AdaBoostClassifier(base, n_estimators=25).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(2 * ours.rule_weights_, theirs.estimator_weights_, rtol=1e-9)
    averages = ours.decision_function(X) / ours.rule_weights_.sum()
    np.testing.assert_allclose(2 * averages, theirs.decision_function(X), atol=1e-9)


def test_gentle_boost_matches_weighted_least_squares():
    X, y, weights = problem_without_ties()
    model = core.GentleBoostClassifier(n_rounds=15, max_leaf_nodes=5).fit(X, y, sample_weight=weights)
    scores, signs = np.zeros(len(y)), signed_labels(y)
    for _ in range(15):
        tree = DecisionTreeRegressor(max_leaf_nodes=5, random_state=0)
        tree.fit(X, signs, sample_weight=weights * np.exp(-signs * scores))
        scores += tree.predict(X)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-9)


def test_logit_boost_matches_least_squares_on_working_responses():
    X, y, weights = problem_without_ties()
    model = core.LogitBoostClassifier(n_rounds=15, max_leaf_nodes=5).fit(X, y, sample_weight=weights)
    scores = np.zeros(len(y))
    for _ in range(15):
        chances = 1 / (1 + np.exp(-2 * scores))
        curvature = chances * (1 - chances)
        responses = np.clip((y - chances) / curvature, -4, 4)
        tree = DecisionTreeRegressor(max_leaf_nodes=5, random_state=0)
        tree.fit(X, responses, sample_weight=weights * curvature)
        scores += tree.predict(X) / 2
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-8)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * scores)), atol=1e-8)
    assert model.trees_[0].n_node_samples[0] == len(y)


def test_logit_boost_respects_min_samples_leaf():
    X, y, _ = problem_without_ties()
    model = core.LogitBoostClassifier(n_rounds=3, min_samples_leaf=30).fit(X, y)
    assert min(nodes.n_node_samples.min() for nodes in model.trees_) >= 30


def timed_boosting_problem(seed):
    rng = np.random.default_rng(seed)
    return np.full(400, 1 / 400), rng.normal(0, 0.5, 400), np.where(rng.random(400) < 0.7, 1.0, -1.0)


@pytest.mark.parametrize("seed", range(3))
def test_brownian_step_solves_its_differential_equation(seed):
    """Freund (2001): dt / dalpha is the weighted mean margin; the step ends where it is zero."""
    row_shares, margins, gains = timed_boosting_problem(seed)
    potential = _BrownianPotential(4.0)
    step = _step(potential, row_shares, margins, gains)

    def mean_gain(weight, elapsed):
        weights = potential.weights(margins + weight * gains, elapsed)
        return weights @ gains / weights.sum()

    width, weight, elapsed = 1e-3, 0.0, 0.0
    while mean_gain(weight, elapsed) > 0:
        middle = mean_gain(weight + width / 2, elapsed + width / 2 * mean_gain(weight, elapsed))
        weight, elapsed = weight + width, elapsed + width * middle
    assert not step.is_last
    assert step.elapsed == pytest.approx(elapsed, abs=1e-4)
    assert step.weight == pytest.approx(weight, abs=2e-3)


@pytest.mark.parametrize("new_potential", [lambda: _BrownianPotential(4.0), lambda: _RobustPotential(0.2, 0.0, 0.1)])
@pytest.mark.parametrize("seed", range(3))
def test_step_preserves_the_potential_and_removes_the_correlation(new_potential, seed):
    row_shares, margins, gains = timed_boosting_problem(seed)
    potential = new_potential()
    before = row_shares @ potential.potentials(margins, 0.0)
    step = _step(potential, row_shares, margins, gains)
    updated_margins = potential.shrinkage(step.elapsed) * margins + step.weight * gains
    weights = potential.weights(updated_margins, step.elapsed)
    assert 0 < step.elapsed < potential.time_left
    assert row_shares @ potential.potentials(updated_margins, step.elapsed) == pytest.approx(before, abs=1e-9)
    assert weights @ gains / weights.sum() == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("new_potential", [lambda: _BrownianPotential(4.0), lambda: _RobustPotential(0.2, 0.0, 0.1)])
def test_rule_without_errors_uses_all_remaining_time(new_potential):
    potential = new_potential()
    step = _step(potential, np.full(10, 0.1), np.zeros(10), np.ones(10))
    assert step.is_last
    assert step.elapsed == potential.time_left
    assert step.weight > 0


def test_robust_boost_reaches_its_error_goal():
    potential = _RobustPotential(0.15, 0.3, 0.1)
    assert potential.potentials(np.zeros(1), 0.0) == pytest.approx(0.15, abs=1e-12)
    assert potential.potentials(np.array([0.3 - 1.0, 0.3, 0.3 + 1.0]), 1.0) == pytest.approx([1, 0.5, 0], abs=1e-6)
    X, y, _ = problem_without_ties(n_rows=1000)
    model = core.RobustBoostClassifier(error_goal=0.15).fit(X, y)
    assert model.stop_reason_ == "time"
    assert 0.1 < 1 - model.score(X, y) < 0.2


def test_binary_classification(booster):
    X, y, weights = problem_without_ties()
    labels = np.where(y == 1, "yes", "no")
    n_rounds = 80 if booster is core.LPBoostClassifier else 10  # the first rounds of LPBoost are weak
    model = booster(n_rounds=n_rounds, random_state=0).fit(X, labels, sample_weight=weights)
    scores, probabilities = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_allclose(scores, model.rule_outputs(X) @ model.rule_weights_, atol=1e-9)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert ((model.predict(X) == "yes") == (scores > 0)).all()
    assert (np.diff(probabilities[np.argsort(scores), 1]) >= 0).all()
    assert model.score(X, labels) > 0.8
    assert model.n_rounds_ <= n_rounds
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert core.evaluate(model, X, labels)["accuracy"] > 0.8


def test_multiclass_classification(booster):
    X, _, _ = problem_without_ties(n_rows=240)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = booster(n_rounds=8, random_state=0).fit(X, y)
    scores, probabilities = model.decision_function(X), model.predict_proba(X)
    assert scores.shape == probabilities.shape == (240, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(X)).mean() > 0.95
    assert model.score(X, y) > 0.9
    assert core.evaluate(model, X, y)["roc_auc"] > 0.95


def test_single_class_is_refused(booster):
    X, y, _ = problem_without_ties()
    with pytest.raises(core.InvalidInput, match="one class"):
        booster().fit(X, np.ones(len(y)))
    with pytest.raises(core.InvalidInput, match="one class"):
        booster().fit(X, y, sample_weight=y)


def test_invalid_parameters_are_refused(booster):
    X, y, _ = problem_without_ties()
    for wrong in [{"n_rounds": 0}, {"max_leaf_nodes": 1}, {"loss": "none"}]:
        with pytest.raises(core.InvalidParameter):
            booster(**wrong).fit(X, y)


class Recorder:
    """Monitor that records all calls."""

    def __init__(self):
        self.stop_flag = np.zeros(1, dtype=np.uint8)
        self.phases, self.completed = [], []

    def begin(self, phase, total, unit):
        self.phases.append((phase, total, unit))

    def advance(self, completed):
        self.completed.append(completed)


@pytest.mark.parametrize(("n_classes", "n_problems"), [(2, 1), (3, 3)])
def test_monitor_is_told_of_every_tree_of_every_class(booster, n_classes, n_problems):
    X, _, _ = problem_without_ties()
    monitor = Recorder()
    booster(n_rounds=5, random_state=0).fit(X, np.digitize(X[:, 0], [0.0, 0.7][: n_classes - 1]), monitor=monitor)
    assert monitor.phases == [("boosting", 5 * n_problems, "trees")]
    assert monitor.completed == list(range(1, len(monitor.completed) + 1))
    assert len(monitor.completed) <= 5 * n_problems


@pytest.mark.parametrize(
    "booster",
    [
        core.BrownBoostClassifier(total_time=1e-300),
        core.BrownBoostClassifier(total_time=500.0),
        core.RobustBoostClassifier(error_goal=1e-300),
        core.RobustBoostClassifier(margin_spread=1e-6),
        core.RobustBoostClassifier(margin_goal=2.0**31 - 1, margin_spread=1e-6),
        core.LPBoostClassifier(outlier_share=1e-300),
        core.RMBoostClassifier(regularization=1e300),
        core.RMBoostClassifier(regularization=1e-12),
        core.RMBoostClassifier(regularization=1e-30, rule_output="sign"),
    ],
    ids=repr,
)
def test_extreme_parameters_give_finite_probabilities(booster):
    X, y, weights = problem_without_ties()
    probabilities = booster.set_params(n_rounds=15).fit(X, y, sample_weight=weights).predict_proba(X)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_constant_features_stop_the_rounds(booster):
    X, y = np.ones((20, 2)), np.array([0] * 12 + [1] * 8)
    model = booster(n_rounds=30).fit(X, y)
    assert model.n_rounds_ < 30 or booster is core.LogitBoostClassifier  # its steps shrink but never reach zero
    assert (model.predict(X) == 0).all()
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("booster", "module", "solver", "iterations"),
    [
        (core.RMBoostClassifier, minimax_rounds, "MinimaxProgram", 20),
        (core.LPBoostClassifier, lpboost, "MarginProgram", 15),
    ],
)
def test_solver_failure_keeps_the_last_optimum(booster, module, solver, iterations, monkeypatch):
    """The classifier equals one that was fitted with the completed rounds only."""
    X, y, _ = problem_without_ties()
    limited = booster(n_rounds=60, random_state=0)
    with monkeypatch.context() as patched:
        patched.setattr(module, solver, partial(getattr(module, solver), iteration_limit=iterations))
        with pytest.raises(core.SolverFailed, match="teration limit"):
            limited.fit(X, y)
    assert limited.stop_reason_ == "solver_failed"
    assert 1 <= limited.n_rounds_ < 60
    solved = booster(n_rounds=limited.n_rounds_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(limited.predict_proba(X), solved.predict_proba(X))


def test_separable_classes_are_learned_exactly(booster):
    X = np.arange(40, dtype=float)[:, np.newaxis]
    model = booster(n_rounds=30).fit(X, X[:, 0] > 19)
    assert model.score(X, X[:, 0] > 19) == 1
    assert np.isfinite(model.decision_function(X)).all()


def test_many_rounds_stay_finite(booster):
    """Labels are contradictory, and weights span eight orders of magnitude."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(120, 2)).astype(float)
    y = (rng.random(120) < 0.3 + 0.4 * (X[:, 0] > 0)).astype(int)
    weights = 10.0 ** rng.uniform(-8, 0, 120)
    model = booster(n_rounds=60, max_leaf_nodes=3, random_state=0).fit(X, y, sample_weight=weights)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("width", [np.float32, np.float64])
def test_leaves_with_equal_distributions_may_have_different_outputs(n_classes, width):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 3)).astype(width)
    y = np.minimum((X > 0).sum(axis=1), n_classes - 1)
    model = core.AdaBoostClassifier(n_rounds=3, max_leaf_nodes=8).fit(X, y)
    rules = tuple(rule._replace(outputs=rng.normal(size=len(rule.outputs))) for rule in model.rules_)
    links = [rule.nodes.link[leaf_nodes(rule.nodes)] for rule in rules]
    assert any(len(np.unique(rule_links)) < len(rule_links) for rule_links in links)
    model.weighted_rules_ = weighted = model.weighted_rules_._replace(rules=rules)
    score_weights = weighted.weights[:, np.newaxis] * (weighted.columns[:, np.newaxis] == np.arange(weighted.n_scores))
    scores = model.decision_function(X).reshape(len(X), -1)
    np.testing.assert_allclose(scores, model.rule_outputs(X) @ score_weights, rtol=1e-12, atol=1e-12)


def test_loss_affects_the_trees(booster):
    X, y, _ = problem_without_ties()
    gini, entropy = (booster(n_rounds=9, loss=loss, max_leaf_nodes=6).fit(X, y) for loss in ("gini", "entropy"))
    assert entropy.score(X, y) > 0.7
    assert gini.decision_function(X).tobytes() != entropy.decision_function(X).tobytes()


def test_equal_seeds_give_equal_bytes_for_any_number_of_threads(booster):
    X, y, _ = problem_without_ties()
    one = booster(n_rounds=6, max_features=2, random_state=3, n_jobs=1).fit(X, y)
    two = booster(n_rounds=6, max_features=2, random_state=3, n_jobs=2).fit(X, y)
    assert one.decision_function(X).tobytes() == two.decision_function(X).tobytes()


@pytest.mark.parametrize("booster", BOOSTERS[1:], ids=lambda booster: booster.__name__)
def test_integer_weights_equal_repeated_rows(booster):
    X, y, _ = problem_without_ties(n_rows=60)
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = booster(n_rounds=4).fit(X, y, sample_weight=weights)
    repeated = booster(n_rounds=4).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    if booster is not core.LPBoostClassifier:  # optima of LPBoost need not be unique
        np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-9)
