"""Compile, or load from the disk cache, every kernel before the first request needs it."""

import numpy as np

from core.estimator import GrownClassifier
from core.forest import ForestClassifier
from core.losses import LOSSES, AdaptiveNegativeExponential, RankingGain
from core.tree import TreeClassifier


def warm_up() -> None:
    """Touch each kernel once on tiny data: every criterion, both float widths, bins with and without loss.

    Codes of 16 bits (a feature with 256 values and missing ones) are rare and compile when first met.
    """
    X = np.arange(24, dtype=np.float64).reshape(12, 2)
    y = np.arange(12) % 3
    classifiers: list[GrownClassifier] = [
        TreeClassifier(loss=kind, random_state=0)
        for kind, loss in LOSSES.items()
        if loss is not AdaptiveNegativeExponential
    ]
    classifiers += [ForestClassifier(n_estimators=2, max_features=1, max_bins=4, random_state=0)]
    for classifier in classifiers:
        labels = y % 2 if classifier.loss == RankingGain.kind else y
        classifier.fit(X, labels).predict_proba(X)
    for width in (np.float32, np.float64):  # 0.1 is no float32, so rows of both widths are walked
        classifiers[0].predict_proba((X + 0.1).astype(width))
    TreeClassifier().fit(X, y).tree_.apply(X)
