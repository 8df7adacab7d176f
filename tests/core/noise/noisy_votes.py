"""Labels with known noise, and class probabilities that do not depend on those labels."""

from typing import NamedTuple

import numpy as np


class NoisyVotes(NamedTuple):
    probabilities: np.ndarray  # (row, class)
    clean: np.ndarray  # (row,)
    labels: np.ndarray  # (row,)


def draw_noisy_votes(transition, n_rows, seed, spread=6.0, softness=3.0):
    """Draw clean classes from random distributions, flatten these into probabilities, and add noise to the labels."""
    rng = np.random.default_rng(seed)
    n_classes = len(transition)
    scores = rng.normal(size=(n_rows, n_classes)) * spread
    distributions, votes = (np.exp(scores / k - (scores / k).max(1, keepdims=True)) for k in (1.0, softness))
    distributions /= distributions.sum(1, keepdims=True)
    clean = (rng.random((n_rows, 1)) >= distributions.cumsum(1)[:, :-1]).sum(1)
    labels = (rng.random((n_rows, 1)) >= np.asarray(transition).cumsum(1)[clean, :-1]).sum(1)
    return NoisyVotes(votes / votes.sum(1, keepdims=True), clean, labels)
