"""Scores that are expected of many trees."""

import numpy as np
import pytest

from core.automatic.candidates import Candidate
from core.automatic.scores import ScoredCandidate, with_expected_increases


def scored(values):
    """Candidates from triples of kind, rows per leaf and their own estimates of the increase."""
    return [
        ScoredCandidate(number, Candidate(kind, "sqrt", size), 0.5, 0.1, increase)
        for number, (kind, size, increase) in enumerate(values)
    ]


def expected(values):
    return [one.expected_increase for one in with_expected_increases(scored(values))]


def test_increases_are_means_of_families_and_one_slope_over_the_rows_per_leaf():
    generator = np.random.default_rng(0)
    values = [
        (kind, size, generator.normal())
        for kind, sizes in (("forest", (1, 2, 8, 64)), ("extra_trees", (1, 16, 4)))
        for size in sizes
    ]
    design = [[kind == "forest", kind == "extra_trees", np.log2(size)] for kind, size, _ in values]
    own = np.array([increase for _, _, increase in values])
    fitted = np.array(design, dtype=float) @ np.linalg.lstsq(np.array(design, dtype=float), own, rcond=None)[0]
    np.testing.assert_allclose(expected(values), fitted)


def test_a_single_candidate_keeps_its_own_increase():
    assert expected([("forest", 4, 0.03)]) == [0.03]


def test_candidates_with_leaves_of_one_size_have_the_mean_of_their_family():
    values = [("forest", 4, 0.02), ("forest", 4, 0.04), ("extra_trees", 4, 0.01)]
    assert expected(values) == pytest.approx([0.03, 0.03, 0.01])
