"""Rows whose weights vanish in the rounding of the other rows' weights."""

import numpy as np
import pytest

import core

LOSSES = ("gini", "entropy", "misclassification", "twoing", "ranking", {"kind": "credal", "s": 1.0}, "ne")


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("seed", [7, 16, 36])
def test_trees_grow(loss, seed: int) -> None:
    """With these seeds, all rows of the lowest value of a node weigh less than the rounding of the others."""
    generator = np.random.default_rng(seed)
    X, y = generator.integers(0, 6, (100, 2)), generator.integers(0, 3, 100)
    weights = 10 ** generator.uniform(-14, 0, 100)
    if loss == "ranking":
        y = np.minimum(y, 1)
    forest = core.ForestClassifier(loss=loss, n_estimators=3, random_state=0).fit(X, y, sample_weight=weights)
    tree = core.TreeClassifier(loss=loss, random_state=0).fit(X, y, sample_weight=weights)
    for model in (forest, tree):
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
