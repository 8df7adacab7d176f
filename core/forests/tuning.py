"""Choice of the loss that trees are grown with: the loss as it is, or the lambda of an adaptive loss.

Lambda is chosen by accuracy on rows that the trees have not seen, with the labels as they are, noisy or not.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from core.class_votes import winning_classes
from core.evaluation.holdout import held_out_rows
from core.exceptions import InvalidLoss
from core.forests.fitting import Fit, Grower, GrownTrees
from core.groups import check_separable
from core.growth.out_of_bag import Bootstrap, accuracy, out_of_bag_votes
from core.growth.tree_structure import Trees
from core.growth.voting import Vote, votes
from core.losses.base import LambdaTuning, Loss
from core.monitoring import Progress
from core.randomness import Purpose

GROWING, TUNING = "growing", "tuning"  # phases that a monitor of a fit receives

GrowCandidate = Callable[[Loss, NDArray[np.float64]], Trees]


class LossStrategy(Protocol):
    """Way from the loss of a classifier to its trees."""

    def phases(self, n_trees: int) -> dict[str, int]:
        """Return the phases of the growth of `n_trees` trees in order, with the number of trees that each grows."""

    def grow(self, grower: Grower) -> GrownTrees:
        """Grow the trees of the fit, and others that the choice of the loss needs."""


class FixedLoss(NamedTuple):
    """Growth with the loss as it is."""

    loss: Loss

    def phases(self, n_trees: int) -> dict[str, int]:
        return {GROWING: n_trees}

    def grow(self, grower: Grower) -> GrownTrees:
        progress = Progress(grower.fit.monitor, GROWING, grower.n_trees)
        return GrownTrees(self.loss, grower.grow(self.loss, grower.fit.data.weights, progress), {})


class TunedLambda(NamedTuple):
    """Growth with the best lambda of a grid; sets `lambda_` and `tuning_scores_`.

    Out of bag, the trees of the best lambda are those of the fit. With a holdout, the fit grows its trees afterwards.
    """

    search: LambdaTuning
    out_of_bag: bool

    def phases(self, n_trees: int) -> dict[str, int]:
        tuning = {TUNING: len(self.search.grid) * n_trees}
        return tuning if self.out_of_bag else {**tuning, GROWING: n_trees}

    def grow(self, grower: Grower) -> GrownTrees:
        progress = Progress(grower.fit.monitor, TUNING, len(self.search.grid) * grower.n_trees)
        tuned = choose_lambda(
            self.search, lambda loss, weights: grower.grow(loss, weights, progress), self._selection(grower)
        )
        loss = self.search.loss_at(tuned.lambda_)
        trees = tuned.trees or FixedLoss(loss).grow(grower).trees
        return GrownTrees(loss, trees, {"lambda_": tuned.lambda_, "tuning_scores_": tuned.scores})

    def _selection(self, grower: Grower) -> "Selection":
        fit = grower.fit
        if self.out_of_bag:
            check_separable(fit.data.groups, "out-of-bag tuning")
            states = fit.seeds.kernel_states(grower.n_trees)
            return out_of_bag_selection(fit, Bootstrap(fit.data.weights, states, fit.data.groups))
        generator, fraction = fit.seeds.generator(Purpose.HOLDOUT), self.search.validation_fraction
        held_out = held_out_rows(fit.data.labels.codes, fraction, True, generator, fit.data.groups).test_rows
        return holdout_selection(fit, held_out)


def loss_strategy(loss: Loss, bootstraps: bool, classifier: str) -> LossStrategy:
    """Return how the named classifier grows with `loss`. Raises InvalidLoss if the loss is tuned out of bag and the
    classifier draws no bootstrap samples.
    """
    search = loss.tuning
    if search is None:
        return FixedLoss(loss)
    if search.selection == "out_of_bag" and not bootstraps:
        raise InvalidLoss(
            f'selection of loss {loss.kind!r} is "out_of_bag", and this {classifier} draws no bootstrap samples, so '
            'that no rows are left out; choose "auto" or "holdout", or a forest with bootstrap=True.'
        )
    return TunedLambda(search, out_of_bag=bootstraps and search.selection != "holdout")


class Selection(NamedTuple):
    """Comparison of candidates: the weights (row,) to grow them with and the accuracy of the trees.

    `grows_the_fit` states whether these are the weights of the fit, so that the trees of the best candidate are kept.
    """

    weights: NDArray[np.float64]
    grows_the_fit: bool
    accuracy: Callable[[Trees, Vote], float]


class Tuned(NamedTuple):
    """Best lambda, the accuracy of each lambda of the grid, and the trees of the best one if they are kept."""

    lambda_: float
    scores: dict[float, float]
    trees: Trees | None


def holdout_selection(fit: Fit, held_out: NDArray[np.int64]) -> Selection:
    """Compare candidates on the rows `held_out`, which they are grown without.

    The accuracy is weighted like the fit, and is 0 if no rows are held out.
    """
    X, labels, weights = fit.data.X, fit.data.labels.codes, fit.data.weights
    held_out_X = np.ascontiguousarray(X[held_out])
    training_weights = weights.copy()
    training_weights[held_out] = 0.0

    def held_out_accuracy(trees: Trees, vote: Vote) -> float:
        correct = winning_classes(votes(held_out_X, trees, vote)) == labels[held_out]
        return float(np.average(correct, weights=weights[held_out])) if len(held_out) else 0.0

    return Selection(training_weights, False, held_out_accuracy)


def out_of_bag_selection(fit: Fit, bootstrap: Bootstrap) -> Selection:
    """Compare candidates by their out-of-bag votes on all rows, which are also the rows that they are grown on.

    The accuracy is weighted like the fit, and is 0 if no row has a vote.
    """

    def out_of_bag_accuracy(trees: Trees, vote: Vote) -> float:
        out_of_bag = out_of_bag_votes(fit.data.X, trees, vote, bootstrap, fit.n_threads, fit.monitor.stop_flag)
        score = accuracy(out_of_bag, fit.data.labels.codes, bootstrap.weights)
        return 0.0 if math.isnan(score) else score

    return Selection(bootstrap.weights, True, out_of_bag_accuracy)


def choose_lambda(search: LambdaTuning, grow: GrowCandidate, selection: Selection) -> Tuned:
    """Grow trees for each lambda of the grid and return the most accurate one; ties go to the larger, more robust
    lambda. At most the best trees so far and those of one candidate are in memory.
    """
    scores: dict[float, float] = {}
    best: tuple[float, float] | None = None
    for lambda_ in search.grid:
        candidate = search.loss_at(lambda_)
        trees = grow(candidate, selection.weights)
        scores[lambda_] = selection.accuracy(trees, candidate.vote)
        if best is None or (scores[lambda_], lambda_) > best:
            best, best_trees = (scores[lambda_], lambda_), trees if selection.grows_the_fit else None
        del trees  # frees them before the next candidate is grown
    assert best is not None, "a grid has at least one value"
    return Tuned(best[1], scores, best_trees)
