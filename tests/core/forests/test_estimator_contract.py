"""Estimator contract: the checks of scikit-learn, and edge cases that they do not cover."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import core
from tests.compile_kernels import RANDOM_CUT_LOSSES

ESTIMATORS = [
    core.TreeClassifier(random_state=0),
    core.ForestClassifier(n_estimators=10, random_state=0),
    core.ExtraTreesClassifier(n_estimators=10, random_state=0),
]

_UNPRUNED = (
    "the check expects class 0 almost everywhere on overlapping blobs, which requires min_weight_fraction_leaf; "
    "a fully grown tree has pure leaves of any weight"
)
EXPECTED_FAILURES = {
    "TreeClassifier": {"check_class_weight_classifiers": _UNPRUNED},
    "ForestClassifier": {
        "check_sample_weight_equivalence_on_dense_data": (
            "bootstrap samples of n weighted rows and of the rows duplicated by weight are different random draws; "
            "without bootstrap the two forests are equal"
        ),
    },
    "ExtraTreesClassifier": {},
}


with warnings.catch_warnings():
    # The estimators follow the contract without scikit-learn's base class; the checks verify this.
    warnings.filterwarnings("ignore", message=".*does not inherit from `sklearn.base.BaseEstimator`")
    scikit_learn_checks = parametrize_with_checks(
        ESTIMATORS, expected_failed_checks=lambda e: EXPECTED_FAILURES[type(e).__name__]
    )


@scikit_learn_checks
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(params=ESTIMATORS, ids=lambda e: type(e).__name__)
def estimator(request):
    return clone(request.param)


def blobs(n_rows=80, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


def test_single_row_is_accepted(estimator):
    assert estimator.fit([[1.0, 2.0]], ["only"]).predict([[5.0, np.nan]]).tolist() == ["only"]


def test_single_class_is_accepted(estimator):
    X, _ = blobs()
    estimator.fit(X, np.full(len(X), 7))
    assert estimator.predict_proba(X).tolist() == [[1.0]] * len(X)


def test_constant_features_make_one_leaf(estimator):
    X, y = np.ones((20, 2)), np.array([0] * 12 + [1] * 8)
    estimator.fit(X, y)
    assert all(nodes.feature.tolist() == [-2] for nodes in estimator.trees_)
    assert (estimator.predict(X) == 0).mean() > 0.5


def test_duplicate_rows_with_different_labels_share_a_leaf():
    tree = core.TreeClassifier().fit([[0.0], [0.0], [0.0], [1.0]], [0, 0, 1, 1])
    np.testing.assert_allclose(tree.predict_proba([[0.0], [1.0]]), [[2 / 3, 1 / 3], [0, 1]])


def test_rows_of_weight_zero_have_no_effect(estimator):
    X, y = blobs()
    weights = np.arange(len(y)) % 2
    X[weights == 0] *= 1000.0
    one = clone(estimator).fit(X, y, sample_weight=weights).predict_proba(X)
    other = clone(estimator).fit(X[weights > 0], y[weights > 0]).predict_proba(X)
    assert one.tobytes() == other.tobytes()


def test_weights_that_are_all_zero_are_refused(estimator):
    X, y = blobs()
    with pytest.raises(core.InvalidInput, match="weight zero"):
        estimator.fit(X, y, sample_weight=np.zeros(len(y)))


@pytest.mark.parametrize("factor", [3, 1e200, 1e-200, 2.0**900, 2.0**-900], ids=lambda factor: f"{factor:g}")
@pytest.mark.parametrize(
    ("estimator", "loss"),
    [
        *((estimator, loss) for estimator in ESTIMATORS[:2] for loss in core.LOSSES if loss != "credal"),
        *((ESTIMATORS[2], loss) for loss in RANDOM_CUT_LOSSES if loss != "credal"),
    ],
    indirect=["estimator"],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_only_ratios_of_weights_matter(estimator, loss, factor):
    X, y = blobs()
    plain = clone(estimator).set_params(loss=loss, n_jobs=1).fit(X, y)
    by_row = clone(plain).fit(X, y, sample_weight=np.full(len(y), factor))
    by_class = clone(plain).set_params(class_weight={0: factor, 1: factor}).fit(X, y)
    for heavy in [by_row, by_class]:
        for nodes, expected in zip(heavy.trees_, plain.trees_, strict=True):
            np.testing.assert_array_equal(nodes.feature, expected.feature)
            np.testing.assert_array_equal(nodes.threshold, expected.threshold)
            np.testing.assert_allclose(nodes.impurity, expected.impurity, atol=1e-12)
            weights = factor * expected.weighted_n_node_samples
            np.testing.assert_allclose(nodes.weighted_n_node_samples, weights, rtol=1e-12)
        np.testing.assert_allclose(heavy.feature_importances_, plain.feature_importances_, atol=1e-12)


def test_scaling_weights_by_a_power_of_two_leaves_results_bit_identical():
    X, y = blobs()
    weights = np.random.default_rng(0).integers(1, 9, len(y)) / 8
    trees = [core.TreeClassifier(loss="ne").fit(X, y, factor * weights).tree_ for factor in (1.0, 2.0**40)]
    assert trees[0].impurity.tobytes() == trees[1].impurity.tobytes()
    assert trees[0].value.tobytes() == trees[1].value.tobytes()


@pytest.mark.parametrize(
    ("weight", "factor"), [(np.inf, 1), (np.nan, 1), (-1, 1), (1e308, 1), (1e200, 1e200), (1e-310, 1)]
)
def test_weights_whose_sum_overflows_are_refused(estimator, weight, factor):
    X, y = blobs()
    estimator.set_params(class_weight={0: factor, 1: factor})
    with pytest.raises(core.InvalidInput, match="weight"):
        estimator.fit(X, y, sample_weight=np.full(len(y), weight))


@pytest.mark.parametrize(
    "labels",
    [[False, True], ["no", "yes"], [-5, 3], [0.5, 2.5], ["x", 3], [("a", 1), ("b", 2)], [True, "maybe"]],
    ids=str,
)
def test_labels_may_be_any_hashable_values(estimator, labels):
    X, y = blobs()
    named = np.empty(len(y), dtype=object)
    named[:] = [labels[k] for k in y]
    estimator.fit(X, named)
    assert set(estimator.classes_.tolist()) == set(labels)
    assert np.mean([a == b for a, b in zip(estimator.predict(X), named, strict=True)]) > 0.95


def test_memory_layout_and_type_of_X_have_no_effect(estimator):
    X, y = blobs()
    X = np.round(X * 8) / 8
    expected = estimator.fit(X, y).predict_proba(X).tobytes()
    for other in [np.asfortranarray(X), X.astype(np.float32), np.repeat(X, 2, axis=0)[::2], X.tolist()]:
        assert clone(estimator).fit(other, y).predict_proba(other).tobytes() == expected


def test_integer_features_are_accepted(estimator):
    X, y = blobs()
    X = np.round(X * 8)
    expected = clone(estimator).fit(X, y).predict_proba(X)
    for width in [np.int8, np.int64]:
        np.testing.assert_array_equal(clone(estimator).fit(X.astype(width), y).predict_proba(X.astype(width)), expected)


def test_infinity_is_refused(estimator):
    X, y = blobs()
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        estimator.fit(X, y)


def test_missing_labels_are_refused(estimator):
    X, y = blobs()
    with pytest.raises(core.InvalidInput, match="every row needs a label"):
        estimator.fit(X, np.where(y == 1, np.nan, 0.0))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_depth", 0),
        ("max_depth", 2.5),
        ("max_depth", 10**19),
        ("min_samples_leaf", 0),
        ("min_samples_leaf", 2**31),
        ("min_samples_leaf", True),
        ("min_risk_decrease", -1e-9),
        ("min_risk_decrease", float("nan")),
        ("min_risk_decrease", float("inf")),
        ("min_risk_decrease", 10**400),
        ("max_features", 0),
        ("max_features", 1.5),
        ("max_features", "all"),
        ("max_bins", 1),
        ("max_bins", 257),
        ("max_bins", "all"),
        ("max_leaf_nodes", 1),
        ("max_leaf_nodes", 2.0),
        ("max_leaf_nodes", 2**31),
        ("splitter", "worst"),
        ("splitter", None),
        ("class_weight", "heavy"),
        ("class_weight", {0: -1.0, 1: 1.0}),
        ("class_weight", {0: 1.0, 1: float("inf")}),
        ("class_weight", {0: 1.0, 1: "heavy"}),
        ("n_jobs", "many"),
        ("random_state", -1),
    ],
)
def test_errors_name_the_invalid_parameter(estimator, name, value):
    X, y = blobs()
    with pytest.raises(core.InvalidParameter, match=name) as refusal:
        estimator.set_params(**{name: value}).fit(X, y)
    assert repr(value) in str(refusal.value)
    assert refusal.value.code == "invalid_parameter"


def test_numpy_numbers_are_accepted_as_parameters(estimator):
    X, y = blobs()
    estimator.set_params(max_depth=np.int32(2), min_risk_decrease=np.float32(0.0), max_features=np.float64(1.0)).fit(
        X, y
    )


def test_class_weight_two_equals_duplicated_rows_of_the_class():
    X, y = blobs()
    X, y = X, np.where(np.arange(len(y)) % 5 == 0, 1 - y, y)
    weighted = core.TreeClassifier(max_depth=3, class_weight={0: 1, 1: 2}).fit(X, y)
    twice = core.TreeClassifier(max_depth=3).fit(np.vstack([X, X[y == 1]]), np.concatenate([y, y[y == 1]]))
    np.testing.assert_allclose(weighted.predict_proba(X), twice.predict_proba(X), atol=1e-12)


def test_class_weight_keys_may_be_text_as_in_json():
    X, y = blobs()
    by_label = core.TreeClassifier(max_depth=2, class_weight={0: 1, 1: 9}).fit(X, y).predict_proba(X)
    by_text = core.TreeClassifier(max_depth=2, class_weight={"0": 1, "1": 9}).fit(X, y).predict_proba(X)
    assert by_label.tobytes() == by_text.tobytes()


def test_class_weight_of_an_unknown_label_is_refused():
    X, y = blobs()
    with pytest.raises(core.InvalidParameter, match="class_weight"):
        core.TreeClassifier(class_weight={0: 1, 5: 9}).fit(X, y)


def test_balanced_classes_have_equal_total_weights():
    X, y = np.zeros((10, 1)), np.array([0] * 9 + [1])
    np.testing.assert_allclose(
        core.TreeClassifier(class_weight="balanced").fit(X, y).predict_proba(X[:1]), [[0.5, 0.5]]
    )


@pytest.mark.parametrize(
    ("max_features", "tried"), [(None, 10), ("sqrt", 3), ("log2", 3), (4, 4), (99, 10), (0.55, 5), (1.0, 10), (0.01, 1)]
)
def test_number_of_features_for_max_features(max_features, tried):
    X, y = blobs(n_features=10)
    named = core.TreeClassifier(max_features=max_features, random_state=0).fit(X, y).tree_
    counted = core.TreeClassifier(max_features=tried, random_state=0).fit(X, y).tree_
    assert named.feature.tolist() == counted.feature.tolist()


def test_importances_are_largest_for_informative_features(estimator):
    X, y = blobs(n_rows=400, n_features=6)
    importances = estimator.fit(X, y).feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert importances[:2].sum() > 0.7
    assert (importances >= 0).all()
