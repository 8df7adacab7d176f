"""Loss correction whose transition matrix is estimated from the training labels."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

import core
from core.forests.noise_estimation_forest import N_TREES, min_rows
from core.noise.correction import parse_correction
from tests.core.forests.test_fitting import Recorder

UNEVEN = [[0.7, 0.2, 0.1], [0.05, 0.9, 0.05], [0.1, 0.1, 0.8]]
KINDS = ("forward", "backward")
FORWARD = {"kind": "forward", "transition": "estimate"}
ESTIMATORS = [
    core.TreeClassifier(max_depth=3, min_samples_leaf=20, random_state=0),
    core.ForestClassifier(n_estimators=5, min_samples_leaf=20, random_state=0),
    core.ExtraTreesClassifier(n_estimators=5, min_samples_leaf=20, random_state=0),
]


@pytest.fixture(params=ESTIMATORS, ids=lambda e: type(e).__name__)
def estimator(request):
    return clone(request.param)


@pytest.fixture(params=KINDS)
def estimating(request, estimator):
    return estimator.set_params(correction={"kind": request.param, "transition": "estimate"})


def separated_clusters(n_rows=900, transition=UNEVEN, seed=0):
    """Return clusters that hardly overlap, their clean classes, and labels with noise of `transition`."""
    generator = np.random.default_rng(seed)
    clean = np.arange(n_rows) % len(transition)
    X = generator.normal(size=(n_rows, 4)) + 4.0 * np.eye(4)[clean]
    noise = {"kind": "matrix", "transition": transition}
    return X, clean, core.inject_noise(clean, noise, random_state=seed).labels


def same_trees(one, other):
    pairs = zip(one.trees_, other.trees_, strict=True)
    return all(a.tobytes() == b.tobytes() for nodes in pairs for a, b in zip(*nodes, strict=True))


def test_estimate_is_accurate_and_recovers_the_clean_classes(estimating):
    X, _, y = separated_clusters(2000)
    X_test, clean_test, _ = separated_clusters(2000, seed=1)
    plain = clone(estimating).set_params(correction=None).fit(X, y)
    corrected = estimating.fit(X, y)
    noise = corrected.noise_estimate_
    np.testing.assert_allclose(noise.transition.rows, UNEVEN, atol=0.06)
    assert noise.noise_rate == pytest.approx(np.mean(1 - np.diag(UNEVEN)), abs=4 * noise.noise_rate_error)
    brier = {m: np.mean((m.predict_proba(X_test) - np.eye(3)[clean_test]) ** 2) for m in (plain, corrected)}
    assert brier[corrected] < brier[plain] / 2
    assert corrected.score(X_test, clean_test) > 0.95


def test_model_equals_the_one_fitted_with_the_estimated_matrix(estimating):
    X, _, y = separated_clusters()
    estimated = clone(estimating).fit(X, y)
    matrix = estimated.noise_estimate_.transition
    known = estimating.set_params(correction={**estimating.correction, "transition": matrix}).fit(X, y)
    assert same_trees(estimated, known)
    assert estimated.predict_proba(X).tobytes() == known.predict_proba(X).tobytes()
    assert not hasattr(known, "noise_estimate_")


def test_equal_seeds_give_equal_bytes_for_any_number_of_threads(estimating, tmp_path):
    X, _, y = separated_clusters()
    fitted = [clone(estimating).set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3)]
    for number, model in enumerate(fitted):
        core.save(model, tmp_path / f"{number}")
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()
    another = clone(estimating).set_params(random_state=1).fit(X, y).noise_estimate_
    assert another.noise_rate != fitted[0].noise_estimate_.noise_rate


def test_estimate_depends_only_on_rows_and_seed():
    X, _, y = separated_clusters()
    weights = np.random.default_rng(0).random(len(y))
    tree = core.TreeClassifier(correction=FORWARD, random_state=0).fit(X, y)
    others = [
        core.ForestClassifier(correction=FORWARD, random_state=0, n_estimators=2, loss="ne", max_bins=4).fit(X, y),
        clone(tree).fit(X, y, sample_weight=weights),
        clone(tree).set_params(class_weight={0: 1.0, 1: 5.0, 2: 0.1}).fit(X, y),
    ]
    for other in others:
        assert other.noise_estimate_.transition == tree.noise_estimate_.transition
    weights[::2] = 0.0
    half = clone(tree).fit(X, y, sample_weight=weights).noise_estimate_
    assert half.transition == clone(tree).fit(X[1::2], y[1::2]).noise_estimate_.transition


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("load", [load_iris, load_wine], ids=lambda load: load.__name__)
def test_clean_labels_lead_to_almost_no_correction(estimator, load, kind):
    X, y = load(return_X_y=True)
    plain = clone(estimator).fit(X, y)
    corrected = estimator.set_params(correction={"kind": kind, "transition": "estimate"}).fit(X, y)
    np.testing.assert_allclose(corrected.noise_estimate_.transition.rows, np.eye(3), atol=0.02)
    np.testing.assert_allclose(corrected.predict_proba(X), plain.predict_proba(X), atol=0.05)


def test_artifacts_keep_all_that_predictions_need(estimating, tmp_path):
    X, _, y = separated_clusters(300)
    fitted = estimating.fit(X, np.array(["ash", "birch", "cedar"])[y])
    core.save(fitted, tmp_path / "model")
    loaded = core.load(tmp_path / "model")
    assert loaded.predict_proba(X).tobytes() == fitted.predict_proba(X).tobytes()
    assert loaded.get_params() | {"n_jobs": None} == fitted.get_params() | {"n_jobs": None}
    assert loaded.fit_summary() == fitted.fit_summary()
    again = clone(loaded).fit(X, np.array(["ash", "birch", "cedar"])[y])
    assert again.predict_proba(X).tobytes() == fitted.predict_proba(X).tobytes()
    assert not hasattr(loaded, "noise_estimate_")


def test_refitting_removes_the_estimate(estimating):
    X, _, y = separated_clusters(300)
    estimating.fit(X, y)
    estimating.set_params(correction=None).fit(X, y)
    assert not hasattr(estimating, "noise_estimate_")


@pytest.mark.parametrize("loss", ["gini", "adaptive_ne", {"kind": "adaptive_ne", "selection": "holdout"}], ids=str)
def test_monitor_is_told_of_the_estimation_phase_first(loss):
    X, _, y = separated_clusters(300)
    monitor = Recorder()
    forest = core.ForestClassifier(n_estimators=2, loss=loss, correction=FORWARD, random_state=0)
    forest.fit(X, y, monitor=monitor)
    assert monitor.calls[: N_TREES + 1] == [("estimating", N_TREES, "trees"), *range(1, N_TREES + 1)]
    assert [entry[:2] for entry in monitor.calls if isinstance(entry, tuple)] == list(forest.phases().items())


@pytest.mark.parametrize("stop_after", [3, N_TREES])
def test_estimation_can_be_stopped(estimating, stop_after):
    X, _, y = separated_clusters(300)
    monitor = Recorder(stop_after)
    with pytest.raises(core.FitStopped):
        estimating.set_params(n_jobs=1).fit(X, y, monitor=monitor)
    assert [entry for entry in monitor.calls if isinstance(entry, tuple)] == [("estimating", N_TREES, "trees")]
    assert not hasattr(estimating, "trees_")


def test_missing_values_with_two_classes_are_supported(estimating):
    X, clean, y = separated_clusters(1200, [[0.7, 0.3], [0.05, 0.95]])
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    fitted = estimating.fit(X, y == 1)
    np.testing.assert_allclose(fitted.noise_estimate_.transition.rows, [[0.7, 0.3], [0.05, 0.95]], atol=0.08)
    assert fitted.score(X, clean == 1) > 0.9


def test_classes_with_one_row_or_none_are_supported(estimating):
    X, _, y = separated_clusters(400, np.eye(2))
    y[17] = 2
    estimate = estimating.fit(X, y).noise_estimate_
    assert estimate.noise_rate < 0.05
    weights = np.ones(len(y))
    weights[17] = 0.0
    estimating.fit(X, y, sample_weight=weights)
    assert estimating.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(estimating.predict_proba(X)).all()


def test_single_class_has_no_noise(estimating):
    X = separated_clusters(60)[0]
    fitted = estimating.fit(X, ["only"] * 60)
    assert (fitted.noise_estimate_.noise_rate, fitted.predict_proba(X).min()) == (0.0, 1.0)


def test_too_few_rows_are_refused(estimating):
    X, clean, _ = separated_clusters(19)
    with pytest.raises(
        core.InvalidNoise, match=r"19 rows of 3 classes are too few .* 20 are needed\. .* matrix"
    ) as error:
        estimating.fit(X, clean)
    assert error.value.parameter == "transition"


def test_fewest_allowed_rows_lead_to_almost_no_correction(estimating):
    X, clean, _ = separated_clusters(min_rows(2), np.eye(2))
    np.testing.assert_allclose(estimating.fit(X, clean).noise_estimate_.transition.rows, np.eye(2), atol=0.01)


@pytest.mark.parametrize("n_rows", [min_rows(2), 24, 60])
def test_labels_that_votes_cannot_predict_are_not_swapped(estimating, n_rows):
    """Out-of-bag votes have a leave-one-out bias: trees that exclude a row saw one fewer example of its class. In
    small samples and trees without splits, all votes then disagree with the labels, and the matrix of maximum
    likelihood would swap the classes.
    """
    clean = np.arange(n_rows) % 2
    X = np.zeros((n_rows, 2)) if n_rows == 60 else separated_clusters(n_rows, np.eye(2))[0]
    transition = estimating.set_params(min_samples_leaf=2).fit(X, clean).noise_estimate_.transition.rows
    assert transition.argmax(axis=0).tolist() == [0, 1]
    uncorrected = clone(estimating).set_params(correction=None).fit(X, clean)
    np.testing.assert_array_equal(estimating.predict(X), uncorrected.predict(X))


def test_ill_conditioned_estimate_is_refused():
    ill_conditioned = core.TransitionMatrix.from_rows([[0.5005, 0.4995], [0.4999, 0.5001]])
    correction = parse_correction(FORWARD, core.parse_loss("gini"))
    with pytest.raises(core.InvalidNoise, match=r"estimated from .* condition number 1667.*pass the matrix"):
        correction.with_estimate(ill_conditioned)
    assert correction.with_estimate(core.TransitionMatrix.uniform(0.2, [0, 1])).transition is not None


def test_class_of_zero_weight_is_refused_before_the_fit_starts():
    X, _, y = separated_clusters(60)
    monitor = Recorder()
    with pytest.raises(core.InvalidParameter, match="class_weight of class 1 is 0"):
        core.TreeClassifier(correction=FORWARD, class_weight={1: 0.0}).fit(X, y, monitor=monitor)
    assert monitor.calls == []


@pytest.mark.parametrize("loss", [name for name in core.LOSSES if name != "gini"])
def test_estimated_backward_correction_requires_squared_loss(loss):
    with pytest.raises(core.InvalidNoise, match="requires loss"):
        core.TreeClassifier(loss=loss, correction={"kind": "backward", "transition": "estimate"}).phases()
