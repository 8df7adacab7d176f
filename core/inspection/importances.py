"""Importances of features: by impurity in the trees, and by permutation on rows with labels."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.boosting.boosted_classifier import BoostedClassifier
from core.columns.encoded_table import EncodedTable
from core.growth.tree_structure import Tree
from core.kernels.growth.tree_nodes import NO_FEATURE
from core.monitoring import FitMonitor, NullMonitor, stop_point
from core.randomness import Purpose, Seed, SeedTree
from core.registry import AnyClassifier
from core.validation.labels import class_codes


class ImpurityImportances(NamedTuple):
    """Shares of the features in the impurity decrease, (feature,), with sum 1; all zero without a split.

    sd: standard deviation over the trees; None for a single tree. Rules count by their weights.
    """

    mean: NDArray[np.float64]
    sd: NDArray[np.float64] | None


class PermutationImportances(NamedTuple):
    """Decrease of the accuracy when the values of a feature are permuted, (feature,); NaN for other features.

    accuracy: that of the rows as they are. sd: standard deviation over the repeats, with n - 1 in the denominator.
    """

    accuracy: float
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]


def impurity_importances(classifier: AnyClassifier) -> ImpurityImportances:
    """Return `feature_importances_` of a fitted classifier with their spread over the trees."""
    total, first, second = 0.0, np.zeros(classifier.n_features_in_), np.zeros(classifier.n_features_in_)
    for weight, shares in _shares_of_trees(classifier):
        total += weight
        first += weight * shares
        second += weight * shares**2
    if total == 0 or first.sum() == 0:
        return ImpurityImportances(first, None if len(classifier.trees_) == 1 else np.zeros_like(first))
    mean = first / total
    variance = np.maximum(second / total - mean**2, 0.0)
    scale = mean.sum()
    return ImpurityImportances(mean / scale, None if len(classifier.trees_) == 1 else np.sqrt(variance) / scale)


def split_features(classifier: AnyClassifier) -> NDArray[np.int64]:
    """Return the features that a fitted classifier splits by, ascending; permuting others changes nothing."""
    is_used = np.zeros(classifier.n_features_in_, dtype=bool)
    for nodes in classifier.trees_:
        is_used[nodes.feature[nodes.feature != NO_FEATURE]] = True
    return np.flatnonzero(is_used)


def permutation_importances(
    classifier: AnyClassifier,
    X: Any,
    y: Any,
    features: Sequence[int],
    *,
    n_repeats: int = 5,
    random_state: Seed = None,
    monitor: FitMonitor | None = None,
) -> PermutationImportances:
    """Return the importances of some features for a fitted classifier, on rows X (row, feature) with labels y (row,).

    The rows should be others than those of the fit (Breiman 2001; Fisher, Rudin and Dominici 2019).
    """
    monitor = monitor or NullMonitor()
    generator = SeedTree(random_state).generator(Purpose.PERMUTATION)
    codes, _ = class_codes(classifier.classes_, y)
    permuted = np.array(X)
    accuracy = _accuracy(classifier, X, permuted, codes)
    mean, sd = np.full((2, classifier.n_features_in_), np.nan)
    monitor.begin(PERMUTING, len(features), "features")
    for done, feature in enumerate(features, start=1):
        values, drops = permuted[:, feature].copy(), np.empty(n_repeats)
        for repeat in range(n_repeats):
            stop_point()
            permuted[:, feature] = generator.permutation(values)
            drops[repeat] = accuracy - _accuracy(classifier, X, permuted, codes)
        permuted[:, feature] = values
        mean[feature], sd[feature] = drops.mean(), drops.std(ddof=1) if n_repeats > 1 else 0.0
        monitor.advance(done)
    return PermutationImportances(accuracy, mean, sd)


#: Phase that a monitor receives.
PERMUTING = "permuting"


def _shares_of_trees(classifier: AnyClassifier) -> Iterator[tuple[float, NDArray[np.float64]]]:
    """Yield the weight of each tree, and the shares of the features in its impurity decrease, (feature,)."""
    n_trees = len(classifier.trees_)
    weights = np.abs(classifier.rule_weights_) if isinstance(classifier, BoostedClassifier) else np.ones(n_trees)
    for nodes, weight in zip(classifier.trees_, weights.tolist(), strict=True):
        yield weight, Tree(nodes, classifier.n_features_in_).compute_feature_importances()


def _accuracy(classifier: AnyClassifier, X: Any, rows: NDArray[Any], codes: NDArray[np.int64]) -> float:
    """Return the accuracy on rows (row, feature) that stand for columns as X does, with the labels `codes` (row,)."""
    table = EncodedTable(rows, X.columns, X.left_out) if isinstance(X, EncodedTable) else rows
    return float(np.mean(classifier.predict_encoded(table).codes == codes))
