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
    expected_increase: float = 0.0  # of the score with many trees; smoothed in results, see `with_expected_increases`

    @property
    def expected_score(self) -> float:
        """Score that is expected of many trees."""
        return min(1.0, max(0.0, self.score + self.expected_increase))

    @property
    def rank(self) -> tuple[float, int, int]:
        """Sort key: best first, and of equally good candidates the one that smooths more."""
        return (-self.expected_score, -self.candidate.min_samples_leaf, self.number)


def with_expected_increases(scores: Sequence[ScoredCandidate]) -> list[ScoredCandidate]:
    """Return the candidates with smoothed increases: the least-squares fit to their own estimates.

    An estimate from one candidate is as uncertain as the differences between candidates. The fit has an intercept for
    each family (kind of forest and number of features) and one slope over the logarithm of the rows per leaf: trees
    that see few features at a node, and trees with small leaves, are less similar, and profit more from being many.
    """
    sizes = np.log2([one.candidate.min_samples_leaf for one in scores])
    estimates = np.array([one.expected_increase for one in scores])
    families = [one.candidate.family for one in scores]
    family_masks = [np.array([other == family for other in families]) for family in families]
    means = np.array([estimates[mask].mean() for mask in family_masks])
    deviations = sizes - np.array([sizes[mask].mean() for mask in family_masks])
    spread = np.sum(deviations**2)
    slope = np.sum(deviations * estimates) / spread if spread else 0.0
    fitted = means + slope * deviations
    return [one._replace(expected_increase=float(value)) for one, value in zip(scores, fitted, strict=True)]
