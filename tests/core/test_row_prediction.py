"""Predictions of single rows without checks, beside those with them."""

import numpy as np
import pytest

import core
from core.service_api import row_predictor

CODES = np.array([0.5, 2.5, 7.5])


@pytest.mark.parametrize(
    "estimator",
    [
        core.TreeClassifier(max_depth=4, random_state=0),
        core.ForestClassifier(n_estimators=5, random_state=0),
        core.ForestClassifier(n_estimators=5, random_state=0, categorical_features=[2]),
        core.ForestClassifier(
            n_estimators=5, random_state=0, correction={"kind": "backward", "transition": [[0.8, 0.2], [0.2, 0.8]]}
        ),
        core.RMBoostClassifier(n_rounds=5, random_state=0),
    ],
    ids=["tree", "forest", "categories", "correction", "boosting"],
)
def test_the_probabilities_are_equal(estimator):
    random = np.random.default_rng(0)
    X = np.column_stack([random.normal(size=300), random.integers(0, 9, 300), CODES[random.integers(0, 3, 300)]])
    y = (X.sum(axis=1) > 5).astype(int)
    X[random.random(X.shape) < 0.05] = np.nan
    estimator.fit(X, y)
    predict = row_predictor(estimator)
    for row in X[:40]:
        np.testing.assert_array_equal(predict(row[None].copy()), estimator.predict_proba(row[None].copy()))
