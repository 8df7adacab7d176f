"""Loss correction with a known transition matrix: leaf values, splits, artifacts and refused input."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import core
from core import service_api
from core.noise.correction import leaf_vote
from tests.core.artifact.artifact_files import forged, set_in
from tests.shared_material import reference

UNEVEN = [[0.7, 0.2, 0.1], [0.05, 0.9, 0.05], [0.3, 0.0, 0.7]]
PAIR = [[0.9, 0.1], [0.4, 0.6]]
SKEWED = [[0.55, 0.45, 0.0], [0.0, 0.95, 0.05], [0.05, 0.4, 0.55]]


def noisy_clusters(n_rows=900, transition=UNEVEN, seed=0):
    """Return three normal clusters, their clean classes, and labels with noise of `transition`."""
    generator = np.random.default_rng(seed)
    clean = np.arange(n_rows) % len(transition)
    X = generator.normal(size=(n_rows, 3)) + np.outer(1.5 * clean, [1.0, -0.5, 0.2])
    noisy = core.inject_noise(clean, {"kind": "matrix", "transition": transition}, random_state=seed).labels
    return X, clean, noisy


def correction(kind="forward", transition=UNEVEN):
    return {"kind": kind, "transition": transition}


def one_leaf(counts, **parameters):
    """Return a tree that has only a root, fitted to the given number of rows per class."""
    y = np.repeat(np.arange(len(counts)), counts)
    weights = np.ones(len(y))
    for missing_class in np.flatnonzero(np.array(counts) == 0):
        y, weights = np.append(y, missing_class), np.append(weights, 0.0)
    return core.TreeClassifier(**parameters).fit(np.zeros((len(y), 1)), y, sample_weight=weights)


@pytest.mark.parametrize("kind", ["forward", "backward"])
def test_leaf_values_match_the_reference(kind):
    vectors = reference("correction.json")
    matrices = [matrix["T"] for matrix in vectors["matrices"]]
    for case in vectors["forward"]:
        tree = one_leaf(case["counts"], correction=correction(kind, matrices[case["T"]]))
        np.testing.assert_allclose(tree.tree_.value[0, 0], case["forward"], atol=1e-10)
        np.testing.assert_allclose(tree.predict_proba([[0.0]])[0], case["forward_clipped"], atol=1e-10)
        if case["argmax_unique"]:
            assert tree.predict([[0.0]])[0] == case["argmax_forward"]
    assert vectors["forward"]


def test_corrected_labels_match_the_reference():
    vectors = reference("correction.json")
    for case in vectors["matrices"]:
        n_classes = len(case["T"])
        tree = one_leaf([2] * n_classes, correction=correction("backward", case["T"]))
        np.testing.assert_allclose(tree.correction_.labels, case["backward_labels"], atol=1e-10)
    assert vectors["matrices"]


def test_backward_splits_match_the_reference():
    vectors = reference("correction.json")
    for case in vectors["backward_splits"]:
        transition = vectors["matrices"][case["T"]]["T"]
        X, y = np.array(case["X"], dtype=float), np.array(case["y"])
        tree = core.TreeClassifier(max_depth=1, correction=correction("backward", transition)).fit(X, y).tree_
        assert (tree.feature[0], tree.threshold[0]) == (case["feature"], case["threshold"])
        mass = tree.weighted_n_node_samples * tree.impurity
        assert (mass[0] - mass[1] - mass[2]) / len(y) == pytest.approx(case["gain"], abs=1e-10)
        np.testing.assert_allclose(tree.value[1:, 0], [case["v_left"], case["v_right"]], atol=1e-10)
        plain = core.TreeClassifier(max_depth=1).fit(X, y).tree_
        assert (plain.feature[0], plain.threshold[0]) == (case["uncorrected_feature"], case["uncorrected_threshold"])
    assert any(case["split_moved"] for case in vectors["backward_splits"])


ESTIMATORS = [
    core.TreeClassifier(max_depth=4, random_state=0),
    core.ForestClassifier(n_estimators=8, min_samples_leaf=10, random_state=0),
    core.ExtraTreesClassifier(n_estimators=8, min_samples_leaf=10, random_state=0),
]


@pytest.fixture(params=ESTIMATORS, ids=lambda e: type(e).__name__)
def estimator(request):
    return clone(request.param)


def test_forward_correction_grows_the_same_trees_and_corrects_leaf_values(estimator):
    X, _, y = noisy_clusters()
    plain, corrected = estimator.fit(X, y), clone(estimator).set_params(correction=correction()).fit(X, y)
    for one, other in zip(plain.trees_, corrected.trees_, strict=True):
        assert all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))
    values = plain.predict_proba(X) @ np.linalg.inv(UNEVEN)
    expected = np.maximum(values, 0) / np.maximum(values, 0).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(corrected.predict_proba(X), expected, atol=1e-11)
    assert (values < 0).any()
    np.testing.assert_array_equal(corrected.predict(X), values.argmax(axis=1))


@pytest.mark.parametrize("kind", ["forward", "backward"])
def test_correction_recovers_the_clean_class_distribution(estimator, kind):
    X, _, y = noisy_clusters(3000, SKEWED)
    X_test, clean_test, _ = noisy_clusters(3000, UNEVEN, seed=1)
    plain = estimator.fit(X, y)

    corrected = clone(estimator).set_params(correction=correction(kind, SKEWED)).fit(X, y)
    gap = {model: np.abs(model.predict_proba(X_test).mean(axis=0) - 1 / 3).max() for model in (plain, corrected)}
    assert gap[corrected] < 0.05 < gap[plain]
    assert corrected.score(X_test, clean_test) >= plain.score(X_test, clean_test)


@pytest.mark.parametrize("kind", ["forward", "backward"])
def test_identity_matrix_changes_nothing(estimator, kind):
    X, _, y = noisy_clusters()
    plain = estimator.fit(X, y).predict_proba(X)
    corrected = clone(estimator).set_params(correction=correction(kind, np.eye(3))).fit(X, y)
    np.testing.assert_allclose(corrected.predict_proba(X), plain, atol=1e-11)
    np.testing.assert_allclose(corrected.feature_importances_, estimator.feature_importances_, atol=1e-9)


def test_uniform_noise_never_changes_the_predicted_class(estimator):
    """Theorem 1 of the paper, for forward correction; with Gini impurity, backward correction grows the same splits."""
    X, _, y = noisy_clusters()
    estimator.set_params(**{"min_samples_leaf": 1, "max_depth": None})  # pure leaves often produce tied votes
    plain = estimator.fit(X, y)
    for kind in ("forward", "backward"):
        uniform = core.TransitionMatrix.uniform(0.3, [0, 1, 2])
        corrected = clone(estimator).set_params(correction=correction(kind, uniform)).fit(X, y)
        X_test = noisy_clusters(seed=1)[0]
        np.testing.assert_array_equal(corrected.predict(X_test), plain.predict(X_test))


def test_backward_importances_are_nonnegative_and_sum_to_one(estimator):
    X, _, y = noisy_clusters()
    estimator.set_params(correction=correction("backward")).fit(X, y)
    assert (estimator.feature_importances_ >= 0).all()
    assert estimator.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", ["forward", "backward"])
def test_artifacts_keep_the_correction(estimator, kind, tmp_path):
    X, _, y = noisy_clusters(300)
    for number, matrix in enumerate((UNEVEN, np.array(UNEVEN), core.TransitionMatrix.from_rows(UNEVEN))):
        fitted = clone(estimator).set_params(correction=correction(kind, matrix), class_weight={0: 2.0}).fit(X, y)
        core.save(fitted, tmp_path / f"{number}")
        loaded = core.load(tmp_path / f"{number}")
        assert loaded.predict_proba(X).tobytes() == fitted.predict_proba(X).tobytes()
        assert loaded.correction["kind"] == kind
        np.testing.assert_allclose(loaded.correction["transition"], UNEVEN)
        np.testing.assert_allclose(clone(loaded).fit(X, y).predict_proba(X), fitted.predict_proba(X), atol=1e-9)


def test_artifact_without_a_correction_field_is_readable(tmp_path):
    X, _, y = noisy_clusters(60)
    tree = core.TreeClassifier(max_depth=2).fit(X, y)
    core.save(tree, tmp_path / "new")

    def remove_correction(header):
        del header["correction"], header["params"]["correction"]

    (tmp_path / "old").write_bytes(forged((tmp_path / "new").read_bytes(), remove_correction))
    loaded = core.load(tmp_path / "old")
    assert (loaded.correction, loaded.correction_) == (None, None)
    np.testing.assert_array_equal(loaded.predict_proba(X), tree.predict_proba(X))


@pytest.mark.parametrize(
    "invalid", [{"kind": "sideways", "labels": np.eye(3).tolist()}, {"kind": "forward"}, {"labels": []}, [], 7], ids=str
)
def test_artifact_with_an_invalid_correction_is_refused(invalid, tmp_path):
    X, _, y = noisy_clusters(60)
    core.save(core.TreeClassifier(max_depth=2, correction=correction()).fit(X, y), tmp_path / "good")
    forgery = forged((tmp_path / "good").read_bytes(), set_in("correction", to=invalid))
    (tmp_path / "bad").write_bytes(forgery)
    with pytest.raises(core.ArtifactError):
        core.load(tmp_path / "bad")


def test_fitted_model_ignores_later_parameter_changes():
    X, _, y = noisy_clusters(300)
    tree = core.TreeClassifier(max_depth=3, correction=correction()).fit(X, y)
    before = tree.predict_proba(X)
    np.testing.assert_array_equal(tree.set_params(correction=None).predict_proba(X), before)
    assert clone(tree).fit(X, y).correction_ is None


@pytest.mark.parametrize(
    "rows", [[[1.0]], [[1, 0, 0], [0, 1, 0], [0, 0, 2]], [["x"] * 3] * 3, [[1e300, -1e300, 1]] * 3]
)
def test_hostile_corrected_labels_are_refused(rows, tmp_path):
    X, _, y = noisy_clusters(60)
    tree = core.TreeClassifier(max_depth=2, correction=correction()).fit(X, y)
    tree.correction_ = tree.correction_._replace(labels=np.array(rows))
    with pytest.raises(core.ArtifactError):
        core.save(tree, tmp_path / "hostile")


@pytest.mark.parametrize("kind", ["forward", "backward"])
def test_class_weights_are_removed_before_correction_and_reapplied_after(kind):
    """A leaf whose class counts follow the matrix returns the clean class distribution, weighted by the row weights."""
    transition, clean = np.array(PAIR), np.array([300, 700])
    counts = np.rint(clean @ transition).astype(int)
    weights = np.array([2.0, 5.0])
    tree = one_leaf(counts, correction=correction(kind, PAIR), class_weight={0: 2.0, 1: 5.0})
    weighted = clean * (transition @ weights)
    np.testing.assert_allclose(tree.tree_.value[0, 0], weighted / weighted.sum(), atol=1e-12)
    uniform = one_leaf(counts, correction=correction(kind, PAIR), class_weight={0: 3.0, 1: 3.0})
    np.testing.assert_allclose(uniform.tree_.value[0, 0], [0.3, 0.7], atol=1e-12)
    one_leaf(counts, correction=correction(kind, PAIR), class_weight="balanced")


def test_integer_weights_equal_repeated_rows():
    X, _, y = noisy_clusters(300)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    for kind in ("forward", "backward"):
        tree = core.TreeClassifier(max_depth=4, correction=correction(kind))
        weighted = tree.fit(X, y, sample_weight=weights).predict_proba(X)
        repeated = clone(tree).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).predict_proba(X)
        np.testing.assert_allclose(weighted, repeated, atol=1e-9)


@pytest.mark.parametrize("kind", ["forward", "backward"])
def test_leaf_limit_and_random_splits_are_equal_for_any_number_of_threads(kind):
    X, _, y = noisy_clusters(600)
    for parameters in ({"max_leaf_nodes": 6}, {"splitter": "random"}):
        forest = core.ForestClassifier(n_estimators=6, random_state=1, correction=correction(kind), **parameters)
        one, two = (clone(forest).set_params(n_jobs=n).fit(X, y).predict_proba(X).tobytes() for n in (1, 2))
        assert one == two


@pytest.mark.parametrize("kind", ["forward", "backward"])
def test_out_of_bag_votes_are_corrected(kind):
    X, _, y = noisy_clusters(900)
    forest = core.ForestClassifier(n_estimators=40, oob_score=True, random_state=0, correction=correction(kind))
    forest.fit(X, y)
    votes = forest.oob_decision_function_
    np.testing.assert_allclose(votes.sum(axis=1), 1)
    assert (votes >= 0).all()
    assert forest.oob_score_ == pytest.approx(np.mean(votes.argmax(axis=1) == y))
    few = core.ForestClassifier(n_estimators=1, oob_score=True, random_state=0, correction=correction(kind))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        few.fit(X, y)
    assert np.isnan(few.oob_decision_function_).any(axis=1).sum() > 100


@pytest.mark.parametrize("selection", ["holdout", "auto"])
def test_adaptive_losses_are_tuned_before_the_correction(selection):
    X, _, y = noisy_clusters(600)
    loss = {"kind": "adaptive_ne", "grid": [0.5, 1.0], "selection": selection}
    plain = core.ForestClassifier(n_estimators=8, loss=loss, random_state=0).fit(X, y)
    corrected = clone(plain).set_params(correction=correction()).fit(X, y)
    assert corrected.tuning_scores_ == plain.tuning_scores_
    values = plain.predict_proba(X) @ np.linalg.inv(UNEVEN)
    np.testing.assert_array_equal(corrected.predict(X), values.argmax(axis=1))


def test_losses_that_need_probabilities_receive_clipped_values():
    p = np.array([[0.6, 0.1, 0.3], [0.0, 1.0, 0.0]])
    corrected = core.parse_correction(correction(), core.parse_loss("gini")).corrected_labels(np.arange(3), np.ones(3))
    values = np.maximum(p @ np.linalg.inv(UNEVEN), 0)
    squares = (values / values.sum(axis=1, keepdims=True)) ** 2
    votes = leaf_vote(core.parse_loss({"kind": "gce", "q": 0.5}), corrected)(p)
    np.testing.assert_allclose(votes, squares / squares.sum(axis=1, keepdims=True), atol=1e-12)
    for loss in ("gini", "misclassification", {"kind": "gce", "q": 0}):
        np.testing.assert_allclose(
            leaf_vote(core.parse_loss(loss), corrected)(p), p @ np.linalg.inv(UNEVEN), atol=1e-12
        )


def test_trees_of_a_forest_are_corrected():
    X, _, y = noisy_clusters(300)
    forest = core.ForestClassifier(n_estimators=3, max_depth=3, random_state=0, correction=correction()).fit(X, y)
    values = np.mean([tree.tree_.value[tree.tree_.apply(X), 0] for tree in forest.estimators_], axis=0)
    np.testing.assert_array_equal(forest.predict(X), values.argmax(axis=1))


def test_matrix_with_class_names_may_order_its_classes_freely():
    named = core.TransitionMatrix.from_rows([[0.6, 0.4], [0.1, 0.9]], classes=["yes", "no"])
    y = np.array(["no"] * 58 + ["yes"] * 42)
    ours = core.TreeClassifier(correction=correction(transition=named)).fit(np.zeros((100, 1)), y)
    sorted_rows = core.TreeClassifier(correction=correction(transition=[[0.9, 0.1], [0.4, 0.6]]))
    np.testing.assert_allclose(
        ours.predict_proba([[0.0]]), sorted_rows.fit(np.zeros((100, 1)), y).predict_proba([[0.0]])
    )


@pytest.mark.parametrize(
    ("invalid", "message"),
    [
        ("forward", "must be a mapping"),
        ({"kind": "forward"}, "must be a mapping"),
        ({**correction(), "rate": 0.1}, "must be a mapping"),
        (correction("sideways"), "'forward' or 'backward'"),
        (correction(transition="guess"), "'guess'; it must be a list of rows, .* or 'estimate'"),
        (correction(transition=[[0.9, 0.1]]), "must be square"),
        (correction(transition=[[0.9, 0.2], [0.1, 0.8]]), "sums to 1.1"),
        (correction(transition=PAIR), "2 x 2 and the labels have 3 classes"),
        (correction(transition=np.full((3, 3), 1 / 3)), "condition number .* at most 1000"),
        (correction(transition=[[0.5005, 0.4995, 0], [0.4999, 0.5001, 0], [0, 0, 1]]), "condition number 1667"),
    ],
    ids=str,
)
def test_invalid_corrections_are_refused(invalid, message):
    X, _, y = noisy_clusters(60)
    with pytest.raises(core.InvalidNoise, match=message):
        core.TreeClassifier(correction=invalid).fit(X, y)


def test_condition_number_within_the_limit_is_accepted():
    ill_conditioned = [[0.502, 0.498, 0], [0.4999, 0.5001, 0], [0, 0, 1]]
    assert 400 < np.linalg.cond(ill_conditioned) < 1000
    X, _, y = noisy_clusters(60)
    core.TreeClassifier(correction=correction(transition=ill_conditioned)).fit(X, y)


@pytest.mark.parametrize("loss", [name for name in core.LOSSES if name != "gini"])
def test_backward_correction_requires_squared_loss(loss):
    with pytest.raises(core.InvalidNoise, match="requires loss") as error:
        core.TreeClassifier(loss=loss, correction=correction("backward")).phases()
    assert error.value.parameter == "kind"
    core.TreeClassifier(loss=loss, correction=correction("forward")).phases()
    core.TreeClassifier(loss="mse", correction=correction("backward")).phases()


def test_correction_refuses_a_class_of_zero_weight():
    with pytest.raises(core.InvalidParameter, match="class_weight of class 1 is 0"):
        one_leaf([5, 5], correction=correction(transition=PAIR), class_weight={0: 1.0, 1: 0.0})


def test_warm_up_accepts_corrections_of_any_size():
    for kind in ("forward", "backward"):
        service_api.warm_up_fit(core.TreeClassifier(correction=correction(kind)))
