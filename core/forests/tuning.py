"""Choosing lambda by accuracy on rows that the trees did not see, with the labels they came with, noisy or not."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.growth.out_of_bag import Bootstrap, accuracy, out_of_bag_votes
from core.growth.tree_structure import Trees
from core.growth.voting import Vote, votes
from core.losses.catalogue import AdaptiveNegativeExponential, NegativeExponential

GrowOn = Callable[[NegativeExponential, NDArray[np.float64]], Trees]


class Selection(NamedTuple):
    """A way to compare candidates: the weights they are grown on (row,), whether those are the weights of the fit, so
    that its trees are grown already, and the accuracy of what was grown.
    """

    weights: NDArray[np.float64]
    grows_the_fit: bool
    accuracy: Callable[[Trees, Vote], float]


class Tuned(NamedTuple):
    """The chosen lambda, the accuracy of every lambda of the grid, and the trees of the fit where they are grown."""

    lambda_: float
    scores: dict[float, float]
    trees: Trees | None


def by_holdout(
    X: NDArray[Any], labels: NDArray[np.int32], weights: NDArray[np.float64], held_out: NDArray[np.int64]
) -> Selection:
    """Compare on the rows `held_out`, which get weight zero in growth. Accuracy is weighted like the fit, 0 without
    held-out rows.
    """
    held_out_rows = np.ascontiguousarray(X[held_out])
    of_the_rest = weights.copy()
    of_the_rest[held_out] = 0.0

    def held_out_accuracy(trees: Trees, vote: Vote) -> float:
        correct = votes(held_out_rows, trees, vote).argmax(axis=1) == labels[held_out]
        return float(np.average(correct, weights=weights[held_out])) if len(held_out) else 0.0

    return Selection(of_the_rest, False, held_out_accuracy)


def by_out_of_bag(
    X: NDArray[Any], labels: NDArray[np.int32], bootstrap: Bootstrap, n_threads: int, stop_flag: NDArray[np.uint8]
) -> Selection:
    """Compare by out-of-bag votes: all rows grow and all are judged. Accuracy is weighted like the fit, 0 when every
    tree saw every row.
    """

    def out_of_bag_accuracy(trees: Trees, vote: Vote) -> float:
        left_out = out_of_bag_votes(X, trees, vote, bootstrap, n_threads, stop_flag)
        found = accuracy(left_out, labels, bootstrap.weights)
        return 0.0 if math.isnan(found) else found

    return Selection(bootstrap.weights, True, out_of_bag_accuracy)


def choose_lambda(loss: AdaptiveNegativeExponential, grow_on: GrowOn, selection: Selection) -> Tuned:
    """Grow once per lambda. Ties go to the larger lambda, the more robust one; only the best trees so far are kept."""
    scores: dict[float, float] = {}
    best: tuple[float, float] | None = None
    for lambda_ in loss.grid:
        candidate = NegativeExponential(lambda_)
        trees = grow_on(candidate, selection.weights)
        scores[lambda_] = selection.accuracy(trees, candidate.vote)
        if best is None or (scores[lambda_], lambda_) > best:
            best, kept = (scores[lambda_], lambda_), trees if selection.grows_the_fit else None
        del trees  # or they would stay while the next ones grow
    assert best is not None, "a grid is never empty"
    return Tuned(best[1], scores, kept)
