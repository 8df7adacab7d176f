"""Candidates of the search in tables of few and of many numbers."""

import numpy as np

import core
from core.automatic.candidates import CANDIDATES, candidates_for
from core.growth.growth_parameters import feature_count


def test_half_of_the_features_and_in_large_wide_tables_a_smaller_share():
    assert candidates_for(1000, 784) == candidates_for(1, 1) == candidates_for(20_000, 256) == CANDIDATES
    shares = {one.max_features for one in candidates_for(10_000, 784)} - {"sqrt"}
    [n_drawn] = [feature_count(share, 784) for share in shares]
    assert n_drawn == 8 * 28


def test_order_is_the_same_for_any_number_of_features():
    wide = candidates_for(10_000, 10_000)
    assert [one.min_samples_leaf for one in wide] == [one.min_samples_leaf for one in CANDIDATES]
    assert [one.family.kind for one in wide] == [one.family.kind for one in CANDIDATES]


def test_a_search_of_a_large_wide_table_names_the_share():
    X = np.zeros((1250, 1600), dtype=np.float32)
    X[:, :3] = np.random.default_rng(0).normal(size=(1250, 3))
    model = core.AutoClassifier(n_fits=4, random_state=0).fit(X, X[:, 0] > 0)
    assert {one.candidate.max_features for one in model.leaderboard_} == {0.2, "sqrt"}
    assert {forest.max_features for forest in model.estimators_} == {0.2, "sqrt"}
