"""Staged predictions: the stages are the models of shorter fits, or are refused with the reason."""

import numpy as np
import pytest

import core

ADDITIVE = [core.AdaBoostClassifier, core.LogitBoostClassifier, core.GentleBoostClassifier]
TIMED = [core.BrownBoostClassifier, core.RobustBoostClassifier]
STAGES = ("staged_predict", "staged_predict_proba", "staged_decision_function")


def _rows(n_classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=120), np.linspace(-0.5, 0.5, n_classes - 1))
    return X, np.array(list("abc"))[y]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("booster", ADDITIVE, ids=lambda one: one.__name__)
def test_a_stage_equals_a_shorter_fit(booster, n_classes):
    X, y = _rows(n_classes)
    options = {"max_leaf_nodes": 3, "random_state": 0}
    longest = booster(n_rounds=6, **options).fit(X, y)
    stages = zip(*(getattr(longest, stage)(X) for stage in STAGES), strict=True)
    n_stages = 0
    for n_rounds, (labels, probabilities, scores) in enumerate(stages, start=1):
        shorter = booster(n_rounds=n_rounds, **options).fit(X, y)
        np.testing.assert_allclose(scores, shorter.decision_function(X), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(probabilities, shorter.predict_proba(X), rtol=1e-9, atol=1e-12)
        assert labels.tolist() == shorter.predict(X).tolist()
        n_stages += 1
    assert n_stages == longest.n_rounds_ == 6


def test_a_class_that_ends_early_keeps_its_rules():
    X = np.arange(12.0).reshape(-1, 1)
    y = np.repeat(["a", "b", "c"], 4)
    booster = core.AdaBoostClassifier(n_rounds=5, max_leaf_nodes=2, random_state=0).fit(X, y)
    assert len(set(np.bincount(booster.weighted_rules_.columns).tolist())) > 1
    stages = list(booster.staged_decision_function(X))
    assert len(stages) == booster.n_rounds_
    np.testing.assert_allclose(stages[-1], booster.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("booster", TIMED, ids=lambda one: one.__name__)
def test_stages_of_timed_boosters_predict_as_their_round_did(booster):
    X, y = _rows()
    fitted = booster(n_rounds=6, max_leaf_nodes=3, random_state=0).fit(X, y)
    for n_rounds, labels in enumerate(fitted.staged_predict(X), start=1):
        assert (
            labels.tolist()
            == booster(n_rounds=n_rounds, max_leaf_nodes=3, random_state=0).fit(X, y).predict(X).tolist()
        )
    *_, last = fitted.staged_decision_function(X)
    np.testing.assert_allclose(last, fitted.decision_function(X), rtol=1e-9)
    assert not hasattr(fitted, "staged_predict_proba")
    with pytest.raises(AttributeError, match="potential"):
        _ = fitted.staged_predict_proba


@pytest.mark.parametrize("booster", [core.RMBoostClassifier, core.LPBoostClassifier], ids=lambda one: one.__name__)
@pytest.mark.parametrize("stage", STAGES)
def test_boosters_that_solve_all_weights_again_have_no_stages(booster, stage):
    assert not hasattr(booster(), stage)
    with pytest.raises(AttributeError, match=f"{booster.__name__}.*smaller n_rounds"):
        getattr(booster(), stage)


def test_wrong_rows_are_refused_before_the_first_stage():
    X, y = _rows()
    with pytest.raises(core.InvalidInput, match="1 features"):
        core.AdaBoostClassifier(n_rounds=2).fit(X, y).staged_predict([[1.0]])
