"""Parts of the scikit-learn estimator contract that its own checks do not cover without optional packages."""

import operator
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import core

_X = np.arange(40, dtype=np.float64).reshape(20, 2)
_Y = np.arange(20) // 10


class Frame:
    """Minimal data frame with values, columns and a shape."""

    def __init__(self, values, columns):
        self.values, self.columns, self.shape = np.asarray(values), columns, np.shape(values)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


def fitted_tree():
    return core.TreeClassifier(random_state=0).fit(_X, _Y)


def test_fit_and_predict_do_not_import_scikit_learn(tmp_path):
    program = (
        "import sys, core; X, y = [[0.0], [1.0]], ['n', 'y'];"
        "forest = core.ForestClassifier(n_estimators=3, random_state=0).fit(X, y);"
        f"core.save(forest, {str(tmp_path / 'model')!r}); loaded = core.load({str(tmp_path / 'model')!r});"
        "loaded.predict(X), loaded.predict_proba(X), loaded.score(X, y);"
        "print([name for name in sys.modules if name.split('.')[0] == 'sklearn'])"
    )
    run = subprocess.run([sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_evaluation_imports_scikit_learn():
    program = (
        "import sys, core; X, y = [[0.0], [1.0]], ['n', 'y'];"
        "report = core.evaluate(core.TreeClassifier().fit(X, y), X, y);"
        "print(report['macro_f1'], 'sklearn' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["1.0", "True"]


def test_scikit_learn_tools_accept_the_estimators():
    pipeline = make_pipeline(StandardScaler(), core.TreeClassifier(random_state=0))
    search = GridSearchCV(pipeline, {"treeclassifier__max_depth": [1, 2]}, cv=2, error_score="raise")
    y = np.arange(20) % 2
    assert search.fit(np.column_stack([y, _X]), y).best_score_ == 1.0
    assert is_classifier(core.ForestClassifier())


def test_clone_copies_only_the_parameters():
    copy = clone(fitted_tree().set_params(loss="ne", class_weight={0: 2.0}))
    assert copy.get_params() == {**core.TreeClassifier(random_state=0, loss="ne", class_weight={0: 2.0}).get_params()}
    assert not hasattr(copy, "trees_")


def test_unknown_parameter_leaves_all_parameters_unchanged():
    tree = core.TreeClassifier()
    with pytest.raises(ValueError, match=r"'depth'.*'max_depth'"):
        tree.set_params(max_depth=3, depth=3)
    assert tree.max_depth is None


def test_repr_shows_only_non_default_parameters():
    assert repr(core.TreeClassifier()) == "TreeClassifier()"
    assert repr(core.ForestClassifier(loss="ne", n_estimators=100)) == "ForestClassifier(loss='ne')"
    assert repr(core.TreeClassifier(class_weight={"a": 2})) == "TreeClassifier(class_weight={'a': 2})"


@pytest.mark.parametrize(
    "attribute", ["predict", "predict_proba", "score", "tree_", "get_depth", "feature_importances_"], ids=str
)
def test_unfitted_estimators_raise_not_fitted_error(attribute):
    arguments = {"predict": [_X], "predict_proba": [_X], "score": [_X, _Y]}.get(attribute, [])
    tree = core.TreeClassifier()
    with pytest.raises(NotFittedError, match="TreeClassifier"):
        operator.attrgetter(attribute)(tree)(*arguments)


@pytest.mark.parametrize("labels", [[0, 1], ["n", "y"], [True, "x"]], ids=str)
def test_score_is_weighted_accuracy(labels):
    named = np.empty(20, dtype=object)
    named[:] = [labels[k] for k in _Y]
    tree = core.TreeClassifier(random_state=0).fit(_X, named)
    wrong = named.copy()
    wrong[:3] = [labels[1], labels[1], "never seen"]
    weights = np.arange(20) + 0.5
    assert tree.score(_X, wrong, weights) == pytest.approx(1 - weights[:3].sum() / weights.sum())
    assert tree.score(_X, wrong) == pytest.approx(17 / 20)


def test_score_equals_that_of_scikit_learn():
    flipped = np.where(np.arange(20) % 7 == 0, 1 - _Y, _Y)
    weights = np.random.default_rng(0).random(20)
    predicted = fitted_tree().predict(_X)
    assert fitted_tree().score(_X, flipped, weights) == pytest.approx(
        accuracy_score(flipped, predicted, sample_weight=weights)
    )


class TestFeatureNames:
    def test_names_of_a_frame_are_stored(self):
        tree = core.TreeClassifier().fit(Frame(_X, ["a", "b"]), _Y)
        assert tree.feature_names_in_.tolist() == ["a", "b"]
        assert tree.fit(_X, _Y).n_features_in_ == 2
        assert not hasattr(tree, "feature_names_in_")

    def test_numeric_names_are_ignored(self):
        assert not hasattr(core.TreeClassifier().fit(Frame(_X, [0, 1]), _Y), "feature_names_in_")

    def test_names_of_mixed_types_are_rejected(self):
        with pytest.raises(TypeError, match="string names"):
            core.TreeClassifier().fit(Frame(_X, ["a", 1]), _Y)

    @pytest.mark.parametrize(
        ("names", "message"),
        [
            (["b", "a"], "same order"),
            (["a", "c"], r"unseen at fit time:\n- c\n.*now missing:\n- b\n"),
            (["a"], r"now missing:\n- b\n"),
            ([*"abcdefghi"], r"unseen at fit time:\n- c\n- d\n- e\n- f\n- g\n- \.\.\.\n"),
        ],
    )
    def test_names_that_differ_from_the_fit_are_listed(self, names, message):
        tree = core.TreeClassifier().fit(Frame(_X, ["a", "b"]), _Y)
        with pytest.raises(core.InvalidInput, match=f"(?s){message}"):
            tree.predict(Frame(np.zeros((1, len(names))), names))

    def test_names_in_only_fit_or_predict_raise_a_warning(self):
        with_names, without_names = core.TreeClassifier().fit(Frame(_X, ["a", "b"]), _Y), fitted_tree()
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            with_names.predict(_X)
        with pytest.warns(UserWarning, match="was fitted without feature names"):
            without_names.predict(Frame(_X, ["a", "b"]))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], "Reshape"),
        (np.zeros((2, 2, 2)), "3D"),
        (np.empty((0, 2)), r"0 sample\(s\)"),
        (np.empty((2, 0)), r"0 feature\(s\)"),
        ([[0.0, -np.inf]], "infinity"),
        ([[np.nan, 10**400]], "infinity|too large"),
        ([[1j, 0]], "Complex"),
        ([[1.0]], "1 features, but TreeClassifier is expecting 2"),
        ([["a", "b"]], "could not convert"),
    ],
    ids=repr,
)
def test_invalid_rows_are_rejected(X, message):
    with pytest.raises((ValueError, OverflowError), match=message):
        fitted_tree().predict(X)


@pytest.mark.parametrize(
    "X", [np.array([["1", "red"]]), [["1", "red"]], np.array([[1, "red"]], dtype=object)], ids=repr
)
def test_text_in_rows_is_named_with_the_way_out(X):
    for method in (lambda: fitted_tree().predict(X), lambda: core.TreeClassifier().fit(X, ["a"])):
        with pytest.raises(core.InvalidInput, match=r"X has 'red' in row 0, column 1.*Pass a data frame"):
            method()


def test_numbers_in_text_are_accepted():
    assert fitted_tree().predict([["1", "2.5"]]).tolist() == fitted_tree().predict([[1, 2.5]]).tolist()


@pytest.mark.parametrize("X", [{"a": [1.0, 2.0]}, [{"a": 1.0}, {"a": 2.0}]], ids=repr)
def test_mappings_are_refused_in_favor_of_frames(X):
    with pytest.raises(core.InvalidInput, match=r"mappings?; pass a data frame"):
        core.TreeClassifier().fit(X, [0, 1])


def test_a_lazy_frame_is_refused():
    polars = pytest.importorskip("polars", reason="lazy frames are those of polars")
    with pytest.raises(core.InvalidInput, match=r"LazyFrame.*X\.collect\(\)"):
        fitted_tree().predict(polars.DataFrame({"a": [1.0], "b": [2.0]}).lazy())


@pytest.mark.parametrize("missing", [None, float("nan"), np.datetime64("NaT")], ids=str)
def test_missing_labels_are_counted_and_refused(missing):
    labels = np.array(["no", "yes"], dtype=object)[_Y]
    labels[[3, 7]] = missing
    with pytest.raises(core.InvalidInput, match="2 of 20 rows, the first of which is row 3"):
        core.TreeClassifier().fit(_X, labels)


def test_missing_labels_of_pandas_are_refused():
    pandas = pytest.importorskip("pandas", reason="its missing value has no truth value")
    with pytest.raises(core.InvalidInput, match="1 of 2 rows"):
        core.TreeClassifier().fit([[0.0], [1.0]], pandas.Series(["a", pandas.NA], dtype=object))


def test_labels_in_the_place_of_rows_are_recognized():
    with pytest.raises(core.InvalidInput, match=r"swapped.*fit\(X, y\)"):
        core.TreeClassifier().fit(np.array(["no", "yes"])[_Y], _X)
    with pytest.raises(core.InvalidInput, match="second argument"):
        core.TreeClassifier().fit(_X, _Y, np.array(["no", "yes"])[_Y])


@pytest.mark.parametrize(("fitted", "given"), [([0, 1], ["0", "1"]), (["0", "1"], [0, 1])], ids=str)
def test_labels_of_another_type_are_refused_by_score(fitted, given):
    tree = core.TreeClassifier().fit(_X, np.array(fitted)[_Y])
    with pytest.raises(core.InvalidInput, match="convert y to the type of the labels of the fit"):
        tree.score(_X, np.array(given)[_Y])


@pytest.mark.parametrize("weights", [[1.0], np.ones((20, 1)), ["heavy"] * 20, [-1.0] * 20, [np.nan] * 20], ids=str)
def test_invalid_sample_weights_are_rejected(weights):
    for method in [core.TreeClassifier().fit, fitted_tree().score]:
        with pytest.raises(core.InvalidInput, match="sample_weight"):
            method(_X, _Y, sample_weight=weights)


def test_missing_values_of_data_frames_are_recognized():
    class WithMissing(Frame):
        iloc = None

        def to_numpy(self, dtype, na_value):
            return np.array([[na_value if v is None else v for v in row] for row in self.values], dtype=dtype)

    X = WithMissing(np.array([[None, 1], [2, 3]], dtype=object), ["a", "b"])
    plain = core.TreeClassifier().fit([[np.nan, 1], [2, 3]], [0, 1])
    assert core.TreeClassifier().fit(X, [0, 1]).tree_.feature.tolist() == plain.tree_.feature.tolist()


@pytest.mark.parametrize("kind", core.ESTIMATORS)
def test_either_takes_a_correction_or_says_why_not(kind):
    estimator = core.ESTIMATORS[kind]
    assert ("correction" in estimator().get_params(deep=False)) == (estimator.no_correction_because is None)


def test_a_score_needs_a_row_of_positive_weight():
    with pytest.raises(core.InvalidInput, match="all rows have weight zero"):
        fitted_tree().score(np.zeros((3, 2)), [0, 1, 0], sample_weight=np.zeros(3))


def test_warnings_name_the_call_of_the_user():
    column = np.array(_Y)[:, np.newaxis]
    with pytest.warns(DataConversionWarning) as of_fit:
        core.TreeClassifier().fit(_X, column)
    with pytest.warns(DataConversionWarning) as of_noise:
        core.inject_noise(column, {"kind": "uniform", "rate": 0.0})
    with pytest.warns(UserWarning, match="out") as of_forest:
        core.ForestClassifier(n_estimators=1, oob_score=True, random_state=0).fit(_X, _Y)
    assert {record.filename for records in (of_fit, of_noise, of_forest) for record in records} == {__file__}
