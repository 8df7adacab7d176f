"""Plain twins of the kernels: slow, short, and of another shape than the code they check."""

import math
from collections.abc import Iterator
from itertools import pairwise


def impurity(kind, p, n_classes, **parameters):
    """Impurity of a class distribution `p`, from its textbook formula."""
    gini = 1.0 - sum(x * x for x in p)
    root = math.sqrt(max(gini, 0.0) * (n_classes - 1) / n_classes)
    match kind:
        case "gini":
            return gini
        case "entropy":
            return -sum(x * math.log(x) for x in p if x > 0)
        case "misclassification":
            return 1.0 - max(p)
        case "mae":
            return 2.0 * (1.0 - max(p))
        case "sqrt_gini":
            return root
        case "ne":
            lambda_ = parameters["lambda"]
            return min(1.0 - max(p), lambda_ * root) if lambda_ > 0 else root
    raise ValueError(kind)


def distribution(y, w, n_classes):
    """Weighted class distribution of some rows."""
    total = sum(w)
    return [sum(wi for yi, wi in zip(y, w, strict=True) if yi == k) / total for k in range(n_classes)]


def cuts(column) -> Iterator[tuple[float, bool, list[bool]]]:
    """All cuts of one feature as (threshold, missing goes left, goes left by row); NaN = missing."""
    present = sorted({x for x in column if not math.isnan(x)})
    any_missing = len(present) < len(column) and any(math.isnan(x) for x in column)
    thresholds = [(a + b) / 2 for a, b in pairwise(present)]
    for threshold in [*thresholds, *([math.inf] if any_missing and present else [])]:
        for missing_left in [False, True] if any_missing and threshold < math.inf else [False]:
            yield threshold, missing_left, [missing_left if math.isnan(x) else x <= threshold for x in column]


def best_gain(kind, X, y, w, n_classes, min_samples_leaf=1, **parameters):
    """Largest gain per node weight over all features and cuts, -inf when no cut is allowed."""

    def risk(rows):
        weight = sum(w[i] for i in rows)
        p = distribution([y[i] for i in rows], [w[i] for i in rows], n_classes)
        return weight * impurity(kind, p, n_classes, **parameters)

    everyone = range(len(y))
    best = -math.inf
    for feature in range(len(X[0])):
        for _, _, goes_left in cuts([row[feature] for row in X]):
            left = [i for i in everyone if goes_left[i]]
            right = [i for i in everyone if not goes_left[i]]
            if min(len(left), len(right)) >= min_samples_leaf:
                best = max(best, (risk(everyone) - risk(left) - risk(right)) / sum(w))
    return best


def leaf_of(tree, row):
    """Walk one row down scikit-learn style arrays."""
    node = 0
    while tree.children_left[node] != -1:
        x = row[tree.feature[node]]
        left = bool(tree.missing_go_to_left[node]) if math.isnan(x) else x <= tree.threshold[node]
        node = tree.children_left[node] if left else tree.children_right[node]
    return node
