"""Candidates of the search: ways to grow a forest that differ in how trees are randomized and how much they smooth.

A family of candidates grows its trees in one way. Its candidates differ in the rows per leaf that its trees are pruned
to, so that each family is grown once.
"""

from typing import Literal, NamedTuple

from core.forests.forest import ExtraTreesClassifier, ForestClassifier
from core.growth.growth_problem import GrowthSettings

#: Trees of one family in the search; each row then has about 18 out-of-bag votes.
TREES_PER_FAMILY = 50


ForestKind = Literal["forest", "extra_trees"]


class Candidate(NamedTuple):
    """Parameters of one forest of the search, with the names that they have in the classifiers.

    Trees are pruned to leaves of at least `min_samples_leaf` rows, which makes them coarser than trees that are grown
    with this minimum. `kind` is "forest" or "extra_trees", both with bootstrap samples, so that every row is left out
    by some trees.
    """

    kind: ForestKind
    max_features: float | Literal["sqrt"]
    min_samples_leaf: int

    @property
    def family(self) -> "Candidate":
        """The candidate of the same kind and number of features whose trees are not pruned."""
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
    """Return the candidates so that the first few differ in family, and then in the rows per leaf."""
    leaf_sizes = (4, 1, 16, 2, 8, 32, 64)
    return tuple(family._replace(min_samples_leaf=size) for size in leaf_sizes for family in FAMILIES)


#: Ways to randomize trees.
FAMILIES = (
    Candidate("extra_trees", 0.5, 1),
    Candidate("forest", 0.5, 1),
    Candidate("forest", "sqrt", 1),
    Candidate("extra_trees", "sqrt", 1),
)
#: All candidates, in the order that `n_fits` takes the first of.
CANDIDATES = _in_order_of_search()
