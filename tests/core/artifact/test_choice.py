"""The choice of an automatic classifier in its artifact: what a file may not say."""

import numpy as np
import pytest

import core
from core.artifact.state import estimator_state, rebuild

FOREST = [1, "forest", 0.5, 4, 0.4, 0.1]
NOT_ESTIMATED = {"noise_rate": None, "noise_rate_error": None, "noise_asymmetry": None}


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


def test_the_choice_of_another_search_is_accepted(state):
    """Later versions may search other candidates and decide by other limits."""
    leaderboard = [[40, "extra_trees", "sqrt", 3, 0.5, 0.1], [0, "forest", 0.25, 128, 0.4, 0.1]]
    rebuilt = rebuild(changed(state, leaderboard=leaderboard, n_chosen=1, noise_rate=0.01, draws_labels=True))
    assert [one.candidate.min_samples_leaf for one in rebuilt.leaderboard_] == [3, 128]
    assert rebuilt.choice_.draws_labels


def test_the_expected_increase_is_stored_and_0_in_files_without_it(state):
    leaderboard = [[0, "extra_trees", 0.5, 4, 0.5, 0.1, 0.03], [1, "forest", 0.5, 4, 0.52, 0.1]]
    assert [one.expected_increase for one in rebuild(changed(state, leaderboard=leaderboard)).leaderboard_] == [
        0.03,
        0.0,
    ]


def test_rows_that_contradict_the_estimate_are_stored_and_none_in_files_without_them(state):
    assert rebuild(changed(state, equal_rows=[9, 8], draws_labels=False)).choice_.equal_rows == (9, 8)
    choice = {name: value for name, value in state.metadata["choice"].items() if name != "equal_rows"}
    older = state._replace(metadata={**state.metadata, "choice": choice})
    assert rebuild(older).choice_.equal_rows is None


@pytest.mark.parametrize("voter", ["naive_bayes_share", "regression_share"])
def test_the_shares_of_other_voters_are_stored_and_0_in_files_without_them(state, voter):
    stored = rebuild(changed(state, draws_labels=True, **{voter: 0.2})).choice_
    assert getattr(stored, voter) == 0.2
    choice = {name: value for name, value in state.metadata["choice"].items() if name != voter}
    older = state._replace(metadata={**state.metadata, "choice": choice})
    assert getattr(rebuild(older).choice_, voter) == 0.0


@pytest.mark.parametrize(
    "fields",
    [
        {"n_chosen": 0},
        {"n_chosen": 3},
        {"n_chosen": 2.0},
        {"leaderboard": []},
        {"leaderboard": [[0, "extra_trees", 0.5, 0, 0.5, 0.1], FOREST]},
        {"leaderboard": [[0, "extra_trees", 0.5, 2.0, 0.5, 0.1], FOREST]},
        {"leaderboard": [[0, "extra_trees", 0.0, 4, 0.5, 0.1], FOREST]},
        {"leaderboard": [[0, "extra_trees", "log2", 4, 0.5, 0.1], FOREST]},
        {"leaderboard": [[0, "boosters", 0.5, 4, 0.5, 0.1], FOREST]},
        {"leaderboard": [[-1, "extra_trees", 0.5, 4, 0.5, 0.1], FOREST]},
        {"leaderboard": [[0, "extra_trees", 0.5, 4, 1.5, 0.1], FOREST]},
        {"leaderboard": [[0, "extra_trees", 0.5, 4, 0.5, -0.1], FOREST]},
        {"leaderboard": [[0, "extra_trees", 0.5, 4, 0.5, 0.1, 1.1], FOREST]},
        {"leaderboard": [[0, "extra_trees", 0.5, 4, 0.5, 0.1, 0.0], [*FOREST, 0.2]]},
        {"leaderboard": [[0, "extra_trees", 0.5, 4, 0.5], FOREST]},
        {"leaderboard": [[0, "extra_trees", 0.5, 4, 0.1, 0.1], FOREST]},
        {"leaderboard": [FOREST, FOREST]},
        {"leaderboard": None},
        {"noise_rate": None},
        {"noise_rate": 1.5},
        {"noise_rate_error": float("nan")},
        {"not_estimated": "few_rows"},
        {"not_estimated": "few_rows", **NOT_ESTIMATED},
        {"not_estimated": "unknown", **NOT_ESTIMATED, "is_identified": False},
        {"is_identified": None},
        {"draws_labels": 1},
        {"equal_rows": [3, 4]},
        {"equal_rows": [4.0, 3]},
        {"equal_rows": [4]},
        {"equal_rows": [4, 4], "draws_labels": True},
        {"equal_rows": [4, 4], "not_estimated": "few_rows", **NOT_ESTIMATED, "is_identified": False},
        {"noise_asymmetry": None},
        {"noise_asymmetry": -0.1},
        {"naive_bayes_share": 1.0, "draws_labels": True},
        {"naive_bayes_share": -0.1, "draws_labels": True},
        {"naive_bayes_share": True, "draws_labels": True},
        {"naive_bayes_share": 0.2, "draws_labels": False},
        {"regression_share": 0.2, "draws_labels": False},
        {"regression_share": -0.1, "draws_labels": True},
        {"regression_share": "0.1", "draws_labels": True},
        {"regression_share": 0.6, "naive_bayes_share": 0.4, "draws_labels": True},
        {"extra": 1},
    ],
    ids=str,
)
def test_impossible_choices_are_refused(state, fields):
    with pytest.raises(core.ArtifactError):
        rebuild(changed(state, **fields))


@pytest.mark.parametrize("field", [*NOT_ESTIMATED, "not_estimated", "is_identified", "draws_labels"])
def test_a_choice_that_does_not_tell_of_its_estimate_is_refused(state, field):
    choice = {name: value for name, value in state.metadata["choice"].items() if name != field}
    with pytest.raises(core.ArtifactError):
        rebuild(state._replace(metadata={**state.metadata, "choice": choice}))


def test_an_automatic_classifier_without_its_choice_is_refused(state):
    without = {name: value for name, value in state.metadata.items() if name != "choice"}
    with pytest.raises(core.ArtifactError):
        rebuild(state._replace(metadata=without))
