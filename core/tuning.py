"""Choosing lambda on held-out rows with the labels they came with, noisy or not."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.losses import AdaptiveNegativeExponential, Loss, NegativeExponential
from core.tree_structure import TreeArrays
from core.voting import votes

GrowOn = Callable[[Loss, NDArray[np.float64]], TreeArrays]


class Tuned(NamedTuple):
    """The chosen lambda, and the held-out accuracy of every lambda of the grid."""

    lambda_: float
    scores: dict[float, float]


def choose_lambda(
    loss: AdaptiveNegativeExponential,
    grow_on: GrowOn,
    X: NDArray[Any],
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    held_out: NDArray[np.int64],
) -> Tuned:
    """Grow once per lambda with the held-out rows at weight zero. Ties go to the larger lambda, the more robust one.

    Accuracy is weighted like the fit. Without held-out rows all lambdas tie.
    """
    training_weights = weights.copy()
    training_weights[held_out] = 0.0
    held_out_rows = np.ascontiguousarray(X[held_out])
    scores = {}
    for lambda_ in loss.grid:
        trees = grow_on(NegativeExponential(lambda_), training_weights)
        correct = votes(held_out_rows, trees, trees.nodes.value).argmax(axis=1) == labels[held_out]
        scores[float(lambda_)] = float(np.average(correct, weights=weights[held_out])) if len(held_out) else 0.0
    return Tuned(max(scores, key=lambda lambda_: (scores[lambda_], lambda_)), scores)
