"""What fits say of themselves, in one shape for every kind: JSON, whatever was found."""

import json

import numpy as np
import pytest

import core


def rows(n_rows=150, n_classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=n_rows), [0.0, 0.7][: n_classes - 1])


def small(kind, **given):
    size = {"n_rounds": 6} if "n_rounds" in core.ESTIMATORS[kind]().get_params() else {}
    return core.ESTIMATORS[kind](**size, random_state=0, **given)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", core.ESTIMATORS)
def test_every_kind(kind, n_classes):
    X, y = rows(n_classes=n_classes)
    estimator = small(kind).fit(X, y)
    found = estimator.fit_summary(noise_rate=0.1)
    assert json.loads(json.dumps(found._asdict(), allow_nan=False)) == found._asdict()
    assert found.fitted["loss"] == {"kind": "gini"}
    assert found.fitted["node_count"] == sum(len(nodes.feature) for nodes in estimator.trees_)
    assert ("stop_reason" in found.fitted) == ("n_rounds" in found.fitted) == ("boost" in kind)
    assert bool(found.metrics) == (kind == "rmboost")
    assert (found.certificate is not None) == (kind == "rmboost" and n_classes == 2)


def test_minimax_boosting_says_what_it_guarantees():
    X, y = rows(1000)
    model = small("rmboost", max_leaf_nodes=2).fit(X, y)
    facts, metrics, certificate = model.fit_summary(noise_rate=0.1)
    assert (facts["n_rounds"], facts["stop_reason"]) == (model.n_rounds_, model.stop_reason_)
    assert facts["regularization"] == pytest.approx(1 / np.sqrt(1000))
    assert metrics["minimax_risk"] == certificate["minimax_risk"] == pytest.approx(metrics["risk_path"][-1], abs=1e-9)
    assert metrics["class_risks"] == [metrics["minimax_risk"]]
    assert len(metrics["risk_path"]) == model.n_rounds_ > 1
    assert certificate == model.certificate(noise_rate=0.1)._asdict()
    assert certificate["noise_rate"] == 0.1
    terms = ("minimax_risk", "optimization", "estimation", "noise", "regularization")
    assert certificate["bound"] == pytest.approx(sum(certificate[term] for term in terms))
    unknown = model.fit_summary().certificate
    assert (unknown["noise_rate"], unknown["noise"]) == (None, 0)


def test_json_has_no_infinity():
    X, y = rows(30)
    certificate = small("rmboost").fit(X, y).fit_summary().certificate
    assert (certificate["bound"], certificate["estimation"], certificate["is_vacuous"]) == (None, None, True)


def test_risks_of_more_classes_are_in_their_order():
    X, y = rows(n_classes=3)
    model = small("rmboost").fit(X, y)
    assert model.fit_summary().metrics["class_risks"] == model.class_risks_.tolist()
    assert len(model.class_risks_) == 3


def test_nothing_is_found_before_a_fit():
    for kind in core.ESTIMATORS:
        with pytest.raises(ValueError, match="not fitted"):
            small(kind).fit_summary()
