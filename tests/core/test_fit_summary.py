"""Fit summaries of all estimators: structure, JSON values and certificates."""

import json

import numpy as np
import pytest

import core


def make_data(n_rows=150, n_classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=n_rows), [0.0, 0.7][: n_classes - 1])


def small_estimator(kind, **parameters):
    size = {"n_rounds": 6} if "n_rounds" in core.ESTIMATORS[kind]().get_params() else {}
    return core.ESTIMATORS[kind](**size, random_state=0, **parameters)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", core.ESTIMATORS)
def test_fit_summary_has_the_same_structure_for_every_estimator(kind, n_classes):
    X, y = make_data(n_classes=n_classes)
    estimator = small_estimator(kind).fit(X, y)
    summary = estimator.fit_summary(noise_rate=0.1)
    assert json.loads(json.dumps(summary._asdict(), allow_nan=False)) == summary._asdict()
    assert summary.fitted["loss"] == {"kind": "gini"}
    assert summary.fitted["node_count"] == sum(len(nodes.feature) for nodes in estimator.trees_)
    assert ("stop_reason" in summary.fitted) == ("n_rounds" in summary.fitted) == ("boost" in kind)
    assert bool(summary.metrics) == (kind == "rmboost")
    assert (summary.certificate is not None) == (kind == "rmboost" and n_classes == 2)


def test_minimax_boosting_summary_contains_the_certificate():
    X, y = make_data(1000)
    model = small_estimator("rmboost", max_leaf_nodes=2).fit(X, y)
    fitted, metrics, certificate = model.fit_summary(noise_rate=0.1)
    assert (fitted["n_rounds"], fitted["stop_reason"]) == (model.n_rounds_, model.stop_reason_)
    assert fitted["regularization"] == pytest.approx(1 / np.sqrt(1000))
    assert metrics["minimax_risk"] == certificate["minimax_risk"] == pytest.approx(metrics["risk_path"][-1], abs=1e-9)
    assert metrics["class_risks"] == [metrics["minimax_risk"]]
    assert len(metrics["risk_path"]) == model.n_rounds_ > 1
    assert certificate == model.certificate(noise_rate=0.1)._asdict()
    assert certificate["noise_rate"] == 0.1
    terms = ("minimax_risk", "optimization", "estimation", "noise", "regularization")
    assert certificate["bound"] == pytest.approx(sum(certificate[term] for term in terms))
    without_noise = model.fit_summary().certificate
    assert (without_noise["noise_rate"], without_noise["noise"]) == (None, 0)


def test_infinite_values_become_null():
    X, y = make_data(30)
    certificate = small_estimator("rmboost").fit(X, y).fit_summary().certificate
    assert (certificate["bound"], certificate["estimation"], certificate["is_vacuous"]) == (None, None, True)


def test_class_risks_are_in_class_order():
    X, y = make_data(n_classes=3)
    model = small_estimator("rmboost").fit(X, y)
    assert model.fit_summary().metrics["class_risks"] == model.class_risks_.tolist()
    assert len(model.class_risks_) == 3


def test_fit_summary_requires_a_fitted_estimator():
    for kind in core.ESTIMATORS:
        with pytest.raises(ValueError, match="not fitted"):
            small_estimator(kind).fit_summary()
