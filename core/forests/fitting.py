"""State of one fit of a tree or a forest, and growth of its trees with a loss."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.growth.growth_problem import GrowthProblem
from core.growth.tree_structure import Trees
from core.kernels.criteria.catalog import Criterion
from core.losses.base import Loss
from core.monitoring import FitMonitor, Progress
from core.noise.correction import CorrectedLabels
from core.randomness import SeedTree
from core.validation.training_data import TrainingData

#: Grows all trees of a classifier on the rows of positive weight.
GrowTrees = Callable[[GrowthProblem, NDArray[np.float64], Criterion, SeedTree, Progress], Trees]


class Fit(NamedTuple):
    """Data, random streams, monitor and label correction of one fit."""

    data: TrainingData
    seeds: SeedTree
    monitor: FitMonitor
    n_threads: int
    correction: CorrectedLabels | None = None


class GrownTrees(NamedTuple):
    """Trees of a fit, the loss that they were grown with, and fitted attributes found while choosing that loss."""

    loss: Loss
    trees: Trees
    attributes: dict[str, Any]


class Grower(NamedTuple):
    """Growth of all trees of a fit with any loss."""

    fit: Fit
    problem: GrowthProblem
    n_trees: int
    grow_trees: GrowTrees

    def grow(self, loss: Loss, weights: NDArray[np.float64], progress: Progress) -> Trees:
        """Grow all trees with `loss` on rows of weight `weights` (row,). Raises InvalidLoss if the loss is not defined
        for the number of classes, and FitStopped.
        """
        loss.check_class_count(self.problem.n_classes)
        return self.grow_trees(self.problem, weights, self._criterion(loss), self.fit.seeds, progress)

    def _criterion(self, loss: Loss) -> Criterion:
        correction = self.fit.correction
        if correction is not None and correction.kind == "backward":
            return correction.criterion()
        loss.prepare(self.fit.monitor.stop_flag)
        return loss.criterion(self.problem.n_classes, self.fit.data.weight_unit)
