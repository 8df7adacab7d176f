"""Scores of the candidates: accuracy out of bag with the trees of the search, and what is expected of many trees."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.automatic.candidates import Candidate


class ScoredCandidate(NamedTuple):
    """A candidate of the search, with the accuracy of its out-of-bag votes on the labels as they are."""

    number: int  # in the order of the search
    candidate: Candidate
    score: float  # weighted like the fit
    score_error: float  # standard error of the score; rows of a group count as far as they agree
    expected_increase: float = 0.0  # of the score with many trees, see `with_expected_increases`

    @property
    def expected_score(self) -> float:
        """Score that is expected of many trees."""
        return min(1.0, max(0.0, self.score + self.expected_increase))

    @property
    def rank(self) -> tuple[float, int, int]:
        """Sort key: best first, and of equally good candidates the one that smooths more."""
        return (-self.expected_score, -self.candidate.min_samples_leaf, self.number)


def with_expected_increases(scores: Sequence[ScoredCandidate]) -> list[ScoredCandidate]:
    """Replace the estimate of each candidate of how much more accurate it would be with many trees.

    That of one candidate is as uncertain as the differences between candidates. So it is replaced by the least-squares
    fit of a mean for each family and one slope over the logarithm of the rows per leaf: trees that see few features at
    a node, and trees with small leaves, are less similar, and profit more from being many.
    """
    sizes = np.log2([one.candidate.min_samples_leaf for one in scores])
    own = np.array([one.expected_increase for one in scores])
    families = [one.candidate.family for one in scores]
    members = [np.array([other == family for other in families]) for family in families]
    means = np.array([own[of_family].mean() for of_family in members])
    deviations = sizes - np.array([sizes[of_family].mean() for of_family in members])
    spread = np.sum(deviations**2)
    slope = np.sum(deviations * own) / spread if spread else 0.0
    fitted = means + slope * deviations
    return [one._replace(expected_increase=float(value)) for one, value in zip(scores, fitted, strict=True)]
