"""Trees grown on labels that are drawn for each tree from the probabilities of the true class of each row.

This is multiple imputation (Rubin 1987, "Multiple imputation for nonresponse in surveys") of the true labels, with a
tree for each imputation. The mean of the trees' votes approaches that of trees grown on the probabilities themselves,
while each row keeps one label.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.forests.fitting import Fit
from core.growth.growing import bootstrap_weights, grow_in_threads, grow_on_rows
from core.growth.growth_problem import GrowthProblem
from core.growth.out_of_bag import Bootstrap
from core.growth.tree_structure import Trees
from core.kernels.growth.partition import TreeRows
from core.kernels.growth.tree_nodes import TreeNodes
from core.losses.catalog import SquaredError
from core.monitoring import Progress
from core.randomness import Purpose


class VoterShares(NamedTuple):
    """Shares in the votes that the probabilities of the true classes follow from; forests have the rest."""

    regression_share: float = 0.0
    naive_bayes_share: float = 0.0


class TrueClasses:
    """Probabilities of the true class of each row, from which the labels of trees are drawn."""

    def __init__(self, probabilities: NDArray[np.float64], shares: VoterShares | None = None) -> None:
        """Take probabilities (row, class), whose rows sum to 1, and the shares in their votes (default: forests)."""
        self.probabilities, self.shares = probabilities, shares or VoterShares()
        self._cumulative = np.cumsum(probabilities, axis=1)
        self._cumulative[:, -1] = 1.0

    def draw(self, generator: np.random.Generator) -> NDArray[np.uint16]:
        """Return a label of each row, as a class number, uint16 (row,)."""
        draws = generator.random(len(self._cumulative))
        return np.asarray(np.sum(self._cumulative <= draws[:, np.newaxis], axis=1), dtype=np.uint16)


def grow_on_drawn_labels(
    fit: Fit, problem: GrowthProblem, true_classes: TrueClasses, member: int, bootstrap: Bootstrap, progress: Progress
) -> Trees:
    """Grow one tree on each bootstrap sample with labels of its own. Raises FitStopped.

    member: number of the member that the trees belong to, which selects the random stream of the labels.
    """
    criterion = SquaredError().criterion(problem.n_classes)
    states = bootstrap.states.copy()

    def grow_one(tree: NDArray[np.uint64]) -> TreeNodes:
        number = int(tree[0])
        weights = bootstrap_weights(bootstrap.weights, bootstrap.groups, states[number])
        labels = true_classes.draw(fit.seeds.member_generator(Purpose.DRAWN_LABELS, member, number))
        rows = np.flatnonzero(weights > 0).astype(np.uint32)
        nodes = grow_on_rows(problem, TreeRows(rows, labels[rows], weights[rows]), criterion, states[number], progress)
        progress.advance()
        return nodes

    return grow_in_threads(grow_one, np.arange(len(states), dtype=np.uint64)[:, np.newaxis], fit.n_threads)
