"""Candidates of the search: ways to grow a forest that differ in how trees are randomized and how much they smooth."""

import math
from typing import Literal, NamedTuple

from core.forests.forest import ExtraTreesClassifier, ForestClassifier
from core.growth.growth_problem import GrowthSettings

#: Trees of one candidate in the search; each row then has about 18 out-of-bag votes.
TREES_PER_CANDIDATE = 50

#: Share of the features that half of the families draw at each node.
_HALF = 0.5
#: Its limit in large tables, as a multiple of the square root of the number of features. Half of many features takes
#: most of the time of a search, and is more accurate only if rows are few.
_MOST_SQUARE_ROOTS = 8
#: Numbers (rows times features) of a table from which on it is large.
_MANY_NUMBERS = 2_000_000

ForestKind = Literal["forest", "extra_trees"]


class Candidate(NamedTuple):
    """Parameters of one forest of the search, with the names that they have in the classifiers.

    `kind` is "forest" or "extra_trees", both with bootstrap samples, so that every row is left out by some trees.
    """

    kind: ForestKind
    max_features: float | Literal["sqrt"]
    min_samples_leaf: int

    @property
    def family(self) -> "Candidate":
        """The candidate of the same kind and number of features with the smallest leaves."""
        return self._replace(min_samples_leaf=1)

    @property
    def settings(self) -> GrowthSettings:
        """Parameters of growth."""
        splitter = "random" if self.kind == "extra_trees" else "best"
        return GrowthSettings(min_samples_leaf=self.min_samples_leaf, max_features=self.max_features, splitter=splitter)

    def unfitted(self, n_trees: int) -> ForestClassifier | ExtraTreesClassifier:
        """Return this forest as an unfitted classifier."""
        estimator = ExtraTreesClassifier if self.kind == "extra_trees" else ForestClassifier
        return estimator(
            n_estimators=n_trees,
            max_features=self.max_features,
            min_samples_leaf=self.min_samples_leaf,
            bootstrap=True,
        )


def _in_order_of_search() -> tuple[Candidate, ...]:
    """Return the candidates so that a search that ends early has seen small and large leaves of each family."""
    leaf_sizes = (4, 1, 16, 2, 8, 32, 64)
    return tuple(family._replace(min_samples_leaf=size) for size in leaf_sizes for family in FAMILIES)


#: Ways to randomize trees.
FAMILIES = (
    Candidate("extra_trees", _HALF, 1),
    Candidate("forest", _HALF, 1),
    Candidate("forest", "sqrt", 1),
    Candidate("extra_trees", "sqrt", 1),
)
#: All candidates in the order in which they are grown, for a small table.
CANDIDATES = _in_order_of_search()


def candidates_for(n_rows: int, n_features: int) -> tuple[Candidate, ...]:
    """Return all candidates in the order in which they are grown, for a search in a table of this size."""
    if n_rows * n_features < _MANY_NUMBERS:
        return CANDIDATES
    share = min(_HALF, round(_MOST_SQUARE_ROOTS / math.sqrt(n_features), 3))
    return tuple(one._replace(max_features=share) if one.max_features == _HALF else one for one in CANDIDATES)
