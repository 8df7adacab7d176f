"""Nested parameters of the loss, metadata routing and HTML representation, used through scikit-learn."""

import inspect

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metadata_routing import get_routing_for_object

import core


def _rows(n_rows=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    return X, (X[:, 0] + 0.3 * rng.normal(size=n_rows) > 0).astype(int)


class TestNestedParameters:
    @pytest.mark.parametrize(
        "loss",
        ["ne", {"kind": "ne", "lambda": 0.75}, core.NegativeExponential(0.75)],
        ids=["name", "mapping", "object"],
    )
    def test_a_grid_search_over_lambda_equals_one_over_losses(self, loss):
        X, y = _rows()
        nested = GridSearchCV(
            core.ForestClassifier(n_estimators=5, loss=loss, random_state=0), {"loss__lambda": [0, 0.5, 1]}, cv=3
        ).fit(X, y)
        losses = [{"kind": "ne", "lambda": value} for value in (0, 0.5, 1)]
        plain = GridSearchCV(core.ForestClassifier(n_estimators=5, random_state=0), {"loss": losses}, cv=3).fit(X, y)
        np.testing.assert_array_equal(nested.cv_results_["split0_test_score"], plain.cv_results_["split0_test_score"])
        assert nested.best_estimator_.loss_ == plain.best_estimator_.loss_

    def test_deep_parameters_list_those_of_the_loss(self):
        forest = core.ForestClassifier(loss="ne")
        assert forest.get_params()["loss__lambda"] == 0.5
        assert "loss__lambda" not in forest.get_params(deep=False)
        assert not [name for name in core.TreeClassifier().get_params() if "__" in name]
        assert core.TreeClassifier(loss="no such loss").get_params()["loss"] == "no such loss"

    def test_setting_keeps_the_form_and_does_not_change_the_given_loss(self):
        given = {"kind": "gce", "q": 0.3}
        tree = core.TreeClassifier(loss=given).set_params(loss__q=0.9)
        assert (given, tree.loss) == ({"kind": "gce", "q": 0.3}, {"kind": "gce", "q": 0.9})
        one = core.NegativeExponential(0.5)
        assert core.TreeClassifier(loss=one).set_params(loss__lambda=1.0).loss == core.NegativeExponential(1.0)
        assert one == core.NegativeExponential(0.5)

    def test_loss_and_its_parameter_at_once(self):
        assert core.TreeClassifier().set_params(loss__lambda=0.25, loss="ne").loss == {"kind": "ne", "lambda": 0.25}

    @pytest.mark.parametrize("name", ["loss__q", "loss__", "loss__lambda_", "splitter__x"])
    def test_an_unknown_name_sets_nothing(self, name):
        tree = core.TreeClassifier(loss="ne")
        with pytest.raises(ValueError, match=f"'{name}'.*'loss__lambda'"):
            tree.set_params(max_depth=3, **{name: 1})
        assert tree.max_depth is None

    def test_values_are_checked_by_fit(self):
        X, y = _rows()
        with pytest.raises(core.InvalidLoss, match="7"):
            core.TreeClassifier(loss="ne").set_params(loss__lambda=7).fit(X, y)

    def test_in_a_pipeline(self):
        pipeline = make_pipeline(StandardScaler(), core.TreeClassifier(loss="ne"))
        pipeline.set_params(treeclassifier__loss__lambda=0.25)
        assert clone(pipeline).get_params()["treeclassifier__loss__lambda"] == 0.25


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
class TestMetadataRouting:
    def test_weights_and_groups_reach_fit_and_score(self):
        X, y = _rows()
        weights, groups = np.random.default_rng(1).integers(1, 5, len(y)).astype(float), np.arange(len(y)) // 3
        seen = []

        class Recorder(core.TreeClassifier):
            def fit(self, X, y, sample_weight=None, groups=None, monitor=None):
                seen.append((np.asarray(sample_weight), np.asarray(groups)))
                return super().fit(X, y, sample_weight, groups, monitor)

            def score(self, X, y, sample_weight=None):
                seen.append((np.asarray(sample_weight), None))
                return super().score(X, y, sample_weight)

        estimator = Recorder(random_state=0).set_fit_request(sample_weight=True, groups=True)
        estimator.set_score_request(sample_weight=True)
        params = {"sample_weight": weights, "groups": groups}
        cross_validate(estimator, X, y, params=params, cv=GroupKFold(3), error_score="raise")
        splits = [part for split in GroupKFold(3).split(X, y, groups) for part in split]
        assert [w.tolist() for w, _ in seen] == [weights[part].tolist() for part in splits]
        assert seen[0][1].tolist() == groups[splits[0]].tolist()

    def test_a_grid_search_passes_them_on(self):
        X, y = _rows()
        groups = np.arange(len(y)) // 3
        forest = core.ForestClassifier(n_estimators=3, loss="ne", random_state=0).set_fit_request(groups=True)
        search = GridSearchCV(forest, {"loss__lambda": [0.25, 1.0]}, cv=GroupKFold(3), error_score="raise")
        search.fit(X, y, groups=groups)
        by_hand = clone(forest).set_params(**search.best_params_).fit(X, y, groups=groups)
        assert search.best_estimator_.predict_proba(X).tobytes() == by_hand.predict_proba(X).tobytes()

    def test_an_argument_without_a_request_is_refused(self):
        X, y = _rows()
        with pytest.raises(ValueError, match="sample_weight"):
            cross_validate(core.TreeClassifier(), X, y, params={"sample_weight": np.ones(len(y))})

    def test_clone_copies_requests_and_a_later_request_keeps_earlier_ones(self):
        tree = core.TreeClassifier().set_fit_request(sample_weight="w").set_fit_request(groups=True)
        requests = clone(tree).get_metadata_routing().fit.requests
        assert requests == {"sample_weight": "w", "groups": True, "monitor": None}
        assert get_routing_for_object(core.TreeClassifier()).score.requests == {"sample_weight": None}

    def test_an_invalid_request_is_refused(self):
        with pytest.raises(ValueError, match="alias"):
            core.TreeClassifier().set_fit_request(sample_weight=3)


def test_requests_need_metadata_routing():
    with pytest.raises(RuntimeError, match="enable_metadata_routing"):
        core.TreeClassifier().set_fit_request(sample_weight=True)


@pytest.mark.parametrize("kind", core.ESTIMATORS)
def test_requests_cover_the_arguments_of_fit_and_score(kind):
    estimator = core.ESTIMATORS[kind]
    for method in ("fit", "score"):
        arguments = list(inspect.signature(getattr(estimator, method)).parameters)[3:]
        requested = list(inspect.signature(getattr(estimator, f"set_{method}_request")).parameters)[1:]
        assert arguments == requested
        assert list(getattr(estimator().get_metadata_routing(), method).requests) == arguments


class TestHtml:
    def test_the_diagram_of_scikit_learn(self):
        X, y = _rows()
        tree = core.TreeClassifier(max_depth=2)
        assert "Not fitted" in tree._repr_html_()
        html = tree.fit(X, y)._repr_html_()
        assert "TreeClassifier" in html
        assert "<span>Fitted</span>" in html
        assert "max_depth=2" in html

    def test_the_bundle_of_a_notebook(self):
        bundle = core.TreeClassifier()._repr_mimebundle_(include=None, exclude=None)
        assert bundle["text/plain"] == "TreeClassifier()"
        assert "<style>" in bundle["text/html"]

    def test_text_only(self):
        with sklearn.config_context(display="text"):
            assert not hasattr(core.TreeClassifier(), "_repr_html_")
            assert list(core.TreeClassifier()._repr_mimebundle_()) == ["text/plain"]

    def test_in_a_pipeline(self):
        assert "ForestClassifier" in make_pipeline(StandardScaler(), core.ForestClassifier())._repr_html_()


def test_cross_val_score():
    X, y = _rows()
    assert cross_val_score(core.ForestClassifier(n_estimators=5, random_state=0), X, y, cv=3).mean() > 0.7
