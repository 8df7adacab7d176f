"""Properties that hold for every loss, on data with ties, weights and missing values."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import core
from tests.compile_kernels import RANDOM_CUT_LOSSES
from tests.core import oracles
from tests.core.growth.grown_trees import node_bytes

LOSSES = [
    *(kind for kind in core.LOSSES if kind != "adaptive_ne"),
    {"kind": "ne", "lambda": 0.3},
    {"kind": "gce", "q": 0.3},
    {"kind": "credal", "s": 2.7},
]
#: Losses with criteria for nearly 0 and 1, which have formulas of their own.
LOSSES_NEAR_THE_LIMITS = [{"kind": "gce", "q": 0.004}, {"kind": "gce", "q": 0.999}]
losses = st.sampled_from([*LOSSES, *LOSSES_NEAR_THE_LIMITS])
#: Options of the search and of growth. Growth is compiled for each criterion, kind of cut and order of nodes. Random
#: cuts and best-first growth do not depend on the formula of the criterion, so not all are combined.
random_cuts = {"splitter": "random", "random_state": 0}
limits = st.integers(2, 6)
losses_and_options = (
    st.tuples(losses, st.just({}))
    | st.tuples(st.sampled_from(RANDOM_CUT_LOSSES), st.just(random_cuts))
    | st.tuples(st.sampled_from(["gini", "entropy"]), st.builds(lambda n: {"max_leaf_nodes": n}, limits))
    | st.tuples(st.just("gini"), st.builds(lambda n: {"max_leaf_nodes": n, **random_cuts}, limits))
)
no_deadline = settings(max_examples=40, deadline=None)


@st.composite
def tables(draw, max_rows=24, missing=True):
    """Draw small X on a coarse grid, labels of up to 4 classes, and multiples of 1/8 as weights."""
    n_rows = draw(st.integers(2, max_rows))
    n_features = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.integers(0, draw(st.integers(1, 8)) + 1, size=(n_rows, n_features)) / 8
    if missing and draw(st.booleans()):
        X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, draw(st.integers(1, 4)), size=n_rows)
    weights = rng.integers(1, 17, size=n_rows) / 8
    return X, y, weights


def with_allowed_classes(table, loss):
    """Return the table, reduced to two classes if the loss needs exactly two."""
    X, y, weights = table
    if loss == "ranking":
        y = y % 2
        assume(len(np.unique(y)) == 2)
    return X, y, weights


def gains(tree, loss):
    """Return the inner nodes and the gain of each per node weight, from the class weights of its children."""
    kind, parameters = parsed(loss)
    inner = np.flatnonzero(tree.children_left >= 0)
    class_weights = tree.value[:, 0, :] * tree.weighted_n_node_samples[:, np.newaxis]
    pairs = zip(tree.children_left[inner], tree.children_right[inner], strict=True)
    children = [(class_weights[left].tolist(), class_weights[right].tolist()) for left, right in pairs]
    return inner, np.array([oracles.gain(kind, *pair, class_weights.shape[1], **parameters) for pair in children])


def leaf_partition(tree, X):
    """Return for each row the first row in its leaf, which does not depend on the numbers of the leaves."""
    _, groups = np.unique(tree.apply(X), return_inverse=True)
    first = {}
    return [first.setdefault(group, i) for i, group in enumerate(groups)]


def parsed(loss):
    spec = core.parse_loss(loss).to_json()
    return spec.pop("kind"), spec


def tolerance(loss):
    """Return the tolerance of a gain, which for tabulated impurities is that of three of them, each twice the bound."""
    loss_object = core.parse_loss(loss)
    return 6 * loss_object.error_bound if isinstance(loss_object, core.DistributionLoss) else 1e-9


@no_deadline
@given(tables(), losses, st.integers(1, 3))
def test_root_has_the_split_with_the_largest_gain(table, loss, min_samples_leaf):
    X, y, weights = with_allowed_classes(table, loss)
    kind, parameters = parsed(loss)
    tree = core.TreeClassifier(loss=loss, max_depth=1, min_samples_leaf=min_samples_leaf).fit(X, y, weights).tree_
    present, codes = np.unique(y, return_inverse=True)
    best_gain_by_hand = oracles.best_gain(
        kind, X.tolist(), codes.tolist(), weights.tolist(), len(present), min_samples_leaf, **parameters
    )
    inner, root_gain = gains(tree, loss)
    if len(inner):
        assert root_gain[0] == pytest.approx(best_gain_by_hand, abs=tolerance(loss))
        assert min(tree.n_node_samples[1:]) >= min_samples_leaf
    else:
        assert best_gain_by_hand <= tolerance(loss)


@no_deadline
@given(tables(), losses_and_options)
def test_stored_impurities_and_values_match_the_rows_of_the_node(table, loss_and_options):
    loss, options = loss_and_options
    X, y, weights = with_allowed_classes(table, loss)
    kind, parameters = parsed(loss)
    classifier = core.TreeClassifier(loss=loss, **options).fit(X, y, weights)
    tree, n_classes = classifier.tree_, len(classifier.classes_)
    codes = np.searchsorted(classifier.classes_, y)
    leaves = tree.apply(X)
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        p = oracles.distribution(codes[rows].tolist(), weights[rows].tolist(), n_classes)
        np.testing.assert_allclose(tree.value[leaf, 0], p, atol=1e-12)
        expected = oracles.impurity(kind, p, n_classes, weights[rows].sum(), **parameters)
        assert tree.impurity[leaf] == pytest.approx(expected, abs=max(1e-7, tolerance(loss)))
        assert tree.n_node_samples[leaf] == rows.sum()


@no_deadline
@given(tables(), losses_and_options)
def test_plain_traversal_gives_the_same_leaves(table, loss_and_options):
    loss, options = loss_and_options
    X, y, weights = with_allowed_classes(table, loss)
    tree = core.TreeClassifier(loss=loss, **options).fit(X, y, weights).tree_
    elsewhere = np.vstack([X + 0.0625, np.full((1, X.shape[1]), np.nan), -X])
    expected = [oracles.find_leaf(tree, row) for row in elsewhere.tolist()]
    assert tree.apply(elsewhere).tolist() == expected


@no_deadline
@given(tables(), losses_and_options)
def test_weight_two_equals_a_duplicated_row(table, loss_and_options):
    loss, options = loss_and_options
    X, y, _ = with_allowed_classes(table, loss)
    weights = 1 + np.arange(len(y)) % 2
    weighted = core.TreeClassifier(loss=loss, **options).fit(X, y, weights)
    repeated = core.TreeClassifier(loss=loss, **options).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.tree_.feature.tolist() == repeated.tree_.feature.tolist()
    assert weighted.tree_.threshold.tolist() == repeated.tree_.threshold.tolist()
    assert weighted.predict_proba(X).tobytes() == repeated.predict_proba(X).tobytes()


@no_deadline
@given(tables(), losses_and_options)
def test_permuted_classes_permute_the_probabilities(table, loss_and_options):
    loss, options = loss_and_options
    X, y, weights = with_allowed_classes(table, loss)
    plain = core.TreeClassifier(loss=loss, **options).fit(X, y, weights)
    renamed = core.TreeClassifier(loss=loss, **options).fit(X, -y, weights)
    assert plain.tree_.feature.tolist() == renamed.tree_.feature.tolist()
    np.testing.assert_allclose(plain.predict_proba(X), renamed.predict_proba(X)[:, ::-1], atol=1e-12)


@no_deadline
@given(tables(), losses, st.sampled_from([None, 4]))
def test_monotone_transformations_of_features_keep_the_partition(table, loss, max_leaf_nodes):
    X, y, weights = with_allowed_classes(table, loss)
    limit = {"max_leaf_nodes": max_leaf_nodes if loss in ("gini", "entropy") else None}
    plain = core.TreeClassifier(loss=loss, **limit).fit(X, y, weights)
    mapped = core.TreeClassifier(loss=loss, **limit).fit(np.exp(3 * X) - 7, y, weights)
    assert leaf_partition(plain.tree_, X) == leaf_partition(mapped.tree_, np.exp(3 * X) - 7)


@no_deadline
@given(tables(), losses_and_options)
def test_constant_feature_is_never_chosen(table, loss_and_options):
    loss, options = loss_and_options
    X, y, weights = with_allowed_classes(table, loss)
    X = np.hstack([np.full((len(y), 1), 4.0), X])
    assert 0 not in core.TreeClassifier(loss=loss, **options).fit(X, y, weights).tree_.feature


@no_deadline
@given(tables(), losses_and_options)
def test_splits_lower_the_risk_by_more_than_min_risk_decrease(table, loss_and_options):
    loss, options = loss_and_options
    X, y, weights = with_allowed_classes(table, loss)
    tree = core.TreeClassifier(loss=loss, min_risk_decrease=0.02, **options).fit(X, y, weights).tree_
    inner, gain = gains(tree, loss)
    has_own_gain = parsed(loss)[0] in oracles.CRITERIA_WITH_DIRECT_GAINS
    share = 1.0 if has_own_gain else tree.weighted_n_node_samples[inner] / tree.weighted_n_node_samples[0]
    assert (gain * share > 0.02 - tolerance(loss)).all()


@pytest.mark.parametrize(
    ("kind", "loss"),
    [
        *((kind, loss) for kind in ("tree", "forest") for loss in ("gini", "adaptive_ne", "gce", "credal")),
        *(("extra_trees", loss) for loss in RANDOM_CUT_LOSSES),
    ],
)
def test_trees_do_not_depend_on_the_number_of_threads(kind, loss):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(700, 9))
    y = rng.integers(0, 3, size=700) * (X[:, 0] > 0)
    extra = {"max_features": 3} if kind == "tree" else {"n_estimators": 12}
    results = []
    for n_jobs in [1, 2, 4]:
        model = core.ESTIMATORS[kind](loss=loss, random_state=5, n_jobs=n_jobs, **extra).fit(X, y)
        results.append([*node_bytes(model), model.predict_proba(X).tobytes()])
    assert results[0] == results[1] == results[2]


def test_different_seeds_give_different_forests():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(200, 5)), rng.integers(0, 2, size=200)
    seeds = [
        core.ForestClassifier(n_estimators=3, random_state=s).fit(X, y).predict_proba(X).tobytes() for s in (0, 0, 1)
    ]
    assert seeds[0] == seeds[1] != seeds[2]


def test_forest_prediction_is_the_mean_of_its_trees():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(1300, 5)), rng.integers(0, 3, size=1300)
    forest = core.ForestClassifier(n_estimators=7, random_state=0).fit(X, y)
    mean = np.mean([tree.predict_proba(X) for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.predict_proba(X), mean, atol=1e-12)
    assert len({tree.tree_.threshold.tobytes() for tree in forest.estimators_}) == 7


def test_missing_values_go_to_the_better_child():
    X = np.array([[1.0], [2.0], [3.0], [4.0], [np.nan], [np.nan]])
    left = core.TreeClassifier(max_depth=1).fit(X, [0, 0, 1, 1, 0, 0]).tree_
    right = core.TreeClassifier(max_depth=1).fit(X, [0, 0, 1, 1, 1, 1]).tree_
    assert (left.threshold[0], left.missing_go_to_left[0]) == (2.5, 1)
    assert (right.threshold[0], right.missing_go_to_left[0]) == (2.5, 0)


def test_split_can_separate_missing_values():
    X = np.array([[1.0], [2.0], [3.0], [np.nan], [np.nan]])
    classifier = core.TreeClassifier().fit(X, [0, 0, 0, 1, 1])
    assert classifier.tree_.threshold[0] == np.inf
    assert classifier.predict([[99.0], [np.nan]]).tolist() == [0, 1]


def test_missing_values_unseen_in_training_go_to_the_larger_child():
    classifier = core.TreeClassifier().fit([[1.0], [2.0], [3.0]], [0, 1, 1])
    assert classifier.predict([[np.nan]]).tolist() == [1]
    classifier = core.TreeClassifier().fit([[1.0], [2.0], [3.0]], [0, 0, 1])
    assert classifier.predict([[np.nan]]).tolist() == [0]
