"""Votes as all classifiers read them."""

import numpy as np

from core.class_votes import rows_with_votes, winning_classes


def test_largest_vote_wins_and_ties_go_to_the_first_class():
    votes = np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.1, 0.1, 0.8], [0.0, 0.0, 0.0]])
    assert winning_classes(votes).tolist() == [1, 0, 2, 0]


def test_rows_without_votes_are_those_with_nan():
    votes = np.array([[0.2, 0.8], [np.nan, np.nan], [0.0, 0.0]])
    assert rows_with_votes(votes).tolist() == [True, False, True]
