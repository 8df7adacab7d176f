"""The kernel ridge regression of an automatic classifier in its artifact: what a file may not say."""

import numpy as np
import pytest

import core
from core.artifact.ridge import RIDGE_ARRAYS
from core.artifact.state import estimator_state, rebuild
from core.kernel_ridge.fitting import MAX_LANDMARKS


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    X[::7, 1] = np.nan
    return X, (X[:, 0] + X[:, 2] > 0).astype(int)


@pytest.fixture(scope="module")
def model(table):
    model = core.AutoClassifier(random_state=0, n_fits=2).fit(*table)
    assert model.kernel_ridge_ is not None
    return model


@pytest.fixture
def state(model):
    return estimator_state(model, None)


def test_a_file_gives_the_same_predictions(tmp_path, model, table):
    core.save(model, tmp_path / "model")
    loaded = core.load(tmp_path / "model")
    assert loaded.predict_proba(table[0]).tobytes() == model.predict_proba(table[0]).tobytes()
    assert loaded.reason_ == model.reason_
    assert "a kernel ridge regression has" in loaded.reason_


def test_files_from_before_the_regression_have_none(state, table):
    younger = ("kernel_ridge", "calibration")
    choice = {name: value for name, value in state.metadata["choice"].items() if name not in younger}
    metadata = {name: value for name, value in state.metadata.items() if name != "ridge_width"}
    older = rebuild(state._replace(metadata={**metadata, "choice": choice}, ridge={}))
    assert older.kernel_ridge_ is None
    assert older.weights_.sum() == pytest.approx(1.0)
    forests = [member.predict_proba(table[0]) for member in older.estimators_]
    np.testing.assert_allclose(older.predict_proba(table[0]), np.mean(forests, axis=0), atol=1e-12)


@pytest.mark.parametrize("name", RIDGE_ARRAYS)
@pytest.mark.parametrize(
    "change",
    [
        lambda array: array[..., :-1],
        lambda array: array.astype(np.float32),
        lambda array: np.full(array.shape, np.nan),
        lambda array: np.full(array.shape, np.inf),
        lambda array: array[np.newaxis],
    ],
    ids=["shorter", "narrow", "nan", "infinite", "nested"],
)
def test_impossible_arrays_are_refused(state, name, change):
    with pytest.raises(core.ArtifactError):
        rebuild(state._replace(ridge={**state.ridge, name: change(state.ridge[name])}))


def test_numbers_whose_scores_would_be_infinite_are_refused(state):
    with pytest.raises(core.ArtifactError, match="too large"):
        rebuild(state._replace(ridge={**state.ridge, "ridge_coefficients": state.ridge["ridge_coefficients"] + 1e200}))


def test_coefficients_that_cancel_are_refused(state):
    coefficients = np.zeros_like(state.ridge["ridge_coefficients"])
    coefficients[:, :2] = [[-(2.0**100), 1.0], [2.0**100, -1.0]]  # the sum over the classes is 0
    with pytest.raises(core.ArtifactError, match="too large"):
        rebuild(state._replace(ridge={**state.ridge, "ridge_coefficients": coefficients}))


def test_landmarks_that_no_fit_has_are_refused(state):
    landmarks = np.full_like(state.ridge["ridge_landmarks"], 2.0**64)
    with pytest.raises(core.ArtifactError, match="too large"):
        rebuild(state._replace(ridge={**state.ridge, "ridge_landmarks": landmarks}))


@pytest.mark.parametrize(("place", "feature"), [(0, -1), (2, 3)], ids=str)
def test_features_that_do_not_exist_are_refused(state, place, feature):
    features = state.ridge["ridge_features"].copy()
    features[place] = feature
    with pytest.raises(core.ArtifactError, match="does not exist"):
        rebuild(state._replace(ridge={**state.ridge, "ridge_features": features}))


def test_repeated_features_are_refused(state):
    with pytest.raises(core.ArtifactError, match="ascending"):
        rebuild(state._replace(ridge={**state.ridge, "ridge_features": np.zeros(3, dtype=np.int64)}))


def test_more_landmarks_than_any_fit_has_are_refused(state):
    many = {name: np.tile(state.ridge[name], (1, 4)) for name in ("ridge_landmarks", "ridge_coefficients")}
    assert many["ridge_landmarks"].shape[1] > MAX_LANDMARKS
    with pytest.raises(core.ArtifactError, match="landmarks"):
        rebuild(state._replace(ridge={**state.ridge, **many}))


@pytest.mark.parametrize(
    ("name", "value"), [("ridge_priors", -1e6), ("ridge_priors", 0.0), ("ridge_coefficients", -(2.0**30))], ids=str
)
def test_scores_that_could_favor_no_class_are_refused(state, name, value):
    with pytest.raises(core.ArtifactError, match="positive"):
        rebuild(state._replace(ridge={**state.ridge, name: np.full_like(state.ridge[name], value)}))


def test_negative_deviations_are_refused(state):
    with pytest.raises(core.ArtifactError, match="negative"):
        rebuild(state._replace(ridge={**state.ridge, "ridge_scaling": -state.ridge["ridge_scaling"]}))


@pytest.mark.parametrize("width", [None, 0.0, -1.0, 1e-300, 1e300, float("inf"), "1", True], ids=str)
def test_impossible_widths_are_refused(state, width):
    with pytest.raises(core.ArtifactError):
        rebuild(state._replace(metadata={**state.metadata, "ridge_width": width}))


@pytest.mark.parametrize(
    "entry", [None, [0.0, 0.5, 0.5], [1.0, 0.5, 0.5], [0.5, 0.5], [0.5, 2.0, 0.5], [0.5, True, 0.5], 1], ids=str
)
def test_impossible_shares_are_refused(state, entry):
    choice = {**state.metadata["choice"], "kernel_ridge": entry}
    with pytest.raises(core.ArtifactError):
        rebuild(state._replace(metadata={**state.metadata, "choice": choice}))


def test_an_incomplete_regression_is_refused(state):
    for name in RIDGE_ARRAYS:
        rest = {other: array for other, array in state.ridge.items() if other != name}
        with pytest.raises(core.ArtifactError):
            rebuild(state._replace(ridge=rest))


def test_a_forest_has_no_regression(state, table):
    forest = estimator_state(core.ForestClassifier(n_estimators=2, random_state=0).fit(*table), None)
    with pytest.raises(core.ArtifactError, match="only an automatic classifier"):
        rebuild(forest._replace(ridge=state.ridge))
