"""The choice of an automatic classifier in its artifact: what a file may not say."""

import numpy as np
import pytest

import core
from core.artifact.state import estimator_state, rebuild

FOREST = [1, "forest", 0.5, 4, 0.4, 0.1]


@pytest.fixture(scope="module")
def state():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    model = core.AutoClassifier(random_state=0, n_fits=2).fit(rng.normal(size=(60, 2)) + y[:, np.newaxis], y)
    return estimator_state(model, None)


def changed(state, **fields):
    choice = {**state.metadata["choice"], **fields}
    return state._replace(metadata={**state.metadata, "choice": choice})


def test_own_state_is_accepted(state):
    assert rebuild(state).choice_.n_chosen == 2
    leaderboard = [[0, "extra_trees", 0.5, 4, 0.5, 0.1], FOREST]
    assert rebuild(changed(state, leaderboard=leaderboard)).leaderboard_[1].number == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"n_chosen": 0},
        {"n_chosen": 1},
        {"n_chosen": 3},
        {"n_chosen": 2.0},
        {"leaderboard": []},
        {"leaderboard": [[0, "extra_trees", 0.5, 3, 0.5, 0.1], FOREST]},
        {"leaderboard": [[99, "extra_trees", 0.5, 4, 0.5, 0.1], FOREST]},
        {"leaderboard": [[0, "extra_trees", 0.5, 4, 1.5, 0.1], FOREST]},
        {"leaderboard": [[0, "extra_trees", 0.5, 4, 0.5, -0.1], FOREST]},
        {"leaderboard": [[0, "extra_trees", 0.5, 4, 0.5], FOREST]},
        {"leaderboard": [[0, "extra_trees", 0.5, 4, 0.1, 0.1], FOREST]},
        {"leaderboard": [FOREST, FOREST]},
        {"leaderboard": None},
        {"noise_rate": None},
        {"noise_rate": 1.5},
        {"noise_rate_error": float("nan")},
        {"not_estimated": "few_rows"},
        {"not_estimated": "few_rows", "noise_rate": None, "noise_rate_error": None},
        {"not_estimated": "unknown", "noise_rate": None, "noise_rate_error": None, "is_identified": False},
        {"is_identified": None},
        {"draws_labels": 1},
        {"draws_labels": True},
        {"extra": 1},
    ],
    ids=str,
)
def test_impossible_choices_are_refused(state, fields):
    with pytest.raises(core.ArtifactError):
        rebuild(changed(state, **fields))


def test_an_automatic_classifier_without_its_choice_is_refused(state):
    without = {name: value for name, value in state.metadata.items() if name != "choice"}
    with pytest.raises(core.ArtifactError):
        rebuild(state._replace(metadata=without))
