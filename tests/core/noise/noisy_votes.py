"""Labels with known noise, and probabilities that were made without a look at them."""

from typing import NamedTuple

import numpy as np


class NoisyVotes(NamedTuple):
    probabilities: np.ndarray  # (row, class)
    clean: np.ndarray  # (row,)
    given: np.ndarray  # (row,)


def drawn(transition, n_rows, seed, spread=6.0, softness=3.0):
    """Clean classes are drawn from random distributions, of which the probabilities are a flatter form."""
    rng = np.random.default_rng(seed)
    n_classes = len(transition)
    scores = rng.normal(size=(n_rows, n_classes)) * spread
    distributions, votes = (np.exp(scores / k - (scores / k).max(1, keepdims=True)) for k in (1.0, softness))
    distributions /= distributions.sum(1, keepdims=True)
    clean = (rng.random((n_rows, 1)) >= distributions.cumsum(1)[:, :-1]).sum(1)
    given = (rng.random((n_rows, 1)) >= np.asarray(transition).cumsum(1)[clean, :-1]).sum(1)
    return NoisyVotes(votes / votes.sum(1, keepdims=True), clean, given)
