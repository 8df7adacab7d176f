"""Clipping of votes to class probabilities."""

import numpy as np
import pytest

from core.noise.correction import clip_to_simplex


@pytest.mark.parametrize("n_classes", [2, 3, 11])
def test_negative_votes_become_zero_and_rows_sum_to_one(n_classes):
    values = np.random.default_rng(0).normal(0.3, 0.5, (50, n_classes))
    values[:, 0] = 1.0
    before = values.copy()
    positive = np.maximum(values, 0.0)
    np.testing.assert_allclose(clip_to_simplex(values), positive / positive.sum(axis=1, keepdims=True), atol=1e-11)
    np.testing.assert_array_equal(values, before)


def test_clipped_rows_have_no_negative_zero():
    clipped = clip_to_simplex(np.array([[1.0, -1e-15, -0.0], [1.2, -0.2, 0.0]]))
    assert clipped.tolist() == [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    assert not np.signbit(clipped).any()


def test_votes_that_differ_by_rounding_errors_tie():
    clipped = clip_to_simplex(np.array([[0.1 + 0.2, 0.3, 0.4]]))
    assert clipped[0, 0] == clipped[0, 1]


def test_a_row_without_a_positive_vote_is_uniform_and_missing_votes_stay_missing():
    clipped = clip_to_simplex(np.array([[-1.0, 0.0], [np.nan, 0.5], [0.5, 0.5]]))
    assert clipped[[0, 2]].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert np.isnan(clipped[1]).any()
