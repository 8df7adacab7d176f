"""Slow, short reference implementations of the kernels with a different structure."""

import decimal
import math
from collections.abc import Iterator
from itertools import pairwise

#: Criteria whose gain is not a decrease of the training risk; the stop rule uses these gains directly.
CRITERIA_WITH_DIRECT_GAINS = {"credal", "twoing", "ranking"}


def impurity(kind, p, n_classes, weight=1.0, **parameters):
    """Return the impurity of a class distribution `p` in a node of this weight, by its textbook formula."""
    gini = 1.0 - sum(x * x for x in p)
    formulas = {
        "gini": lambda: gini,
        "twoing": lambda: gini,
        "entropy": lambda: -sum(x * math.log(x) for x in p if x > 0),
        "misclassification": lambda: 1.0 - max(p),
        "mae": lambda: 2.0 * (1.0 - max(p)),
        "sqrt_gini": lambda: negative_exponential(p, n_classes, 0.0),
        "ne": lambda: negative_exponential(p, n_classes, parameters["lambda"]),
        "distribution": lambda: negative_exponential(p, n_classes, parameters["parameters"]["lambda"]),
        "gce": lambda: generalized_cross_entropy(p, parameters["q"]),
        "credal": lambda: upper_entropy([weight * x for x in p], n_classes, parameters["s"]),
        "ranking": lambda: p[0] * p[1] / 2,
    }
    return formulas[kind]()


def negative_exponential(p, n_classes, lambda_):
    """Return the minimum of misclassification and lambda times the root; for lambda = 0, the root itself."""
    root = math.sqrt(max(1.0 - sum(x * x for x in p), 0.0) * (n_classes - 1) / n_classes)
    return min(1.0 - max(p), lambda_ * root) if lambda_ > 0 else root


def generalized_cross_entropy(p, q):
    """Return (1 - ||p||_r) / q for any q, computed with fifty digits."""
    if q >= 1:
        return (1.0 - max(p)) / q
    with decimal.localcontext(prec=50):
        exact = [decimal.Decimal(x) for x in p if x > 0]
        exact = [x / sum(exact) for x in exact]
        if q == 0:
            return float(-sum(x * x.ln() for x in exact))
        q = decimal.Decimal(q)
        norm = sum(x ** (1 / (1 - q)) for x in exact) ** (1 - q)
        return float((1 - norm) / q)


def upper_entropy(counts, n_classes, s):
    """Return the entropy after the mass s has raised the lowest counts to a level, computed by bisection."""
    counts = [*counts, *[0.0] * (n_classes - len(counts))]
    low, high = 0.0, sum(counts) + s
    for _ in range(200):
        level = (low + high) / 2
        if sum(max(level - count, 0) for count in counts) < s:
            low = level
        else:
            high = level
    filled = [max(count, low) for count in counts]
    return impurity("entropy", [count / sum(filled) for count in filled], n_classes)


def gain(kind, left, right, n_classes, **parameters):
    """Return the gain per node weight of a split into children with these class weights."""

    def mean_loss(counts):
        return impurity(kind, [count / sum(counts) for count in counts], n_classes, sum(counts), **parameters)

    n_left, n_right = sum(left), sum(right)
    n = n_left + n_right
    if kind == "twoing":
        distance = sum(abs(a / n_left - b / n_right) for a, b in zip(left, right, strict=True))
        return n_left * n_right / n**2 / 4 * distance**2
    if kind == "ranking":
        return abs(left[0] * right[1] - left[1] * right[0]) / 2
    parent = mean_loss([a + b for a, b in zip(left, right, strict=True)])
    if kind == "credal":
        s, left_loss, right_loss = parameters["s"], mean_loss(left), mean_loss(right)
        return parent - (n_left * left_loss + n_right * right_loss + s * max(left_loss, right_loss)) / (n + s)
    return parent - (n_left * mean_loss(left) + n_right * mean_loss(right)) / n


def distribution(y, w, n_classes):
    """Return the weighted class distribution of the rows."""
    total = sum(w)
    return [sum(wi for yi, wi in zip(y, w, strict=True) if yi == k) / total for k in range(n_classes)]


def cuts(column) -> Iterator[tuple[float, bool, list[bool]]]:
    """Yield all cuts of one feature as (threshold, missing goes left, goes left by row); NaN is missing."""
    present = sorted({x for x in column if not math.isnan(x)})
    any_missing = len(present) < len(column) and any(math.isnan(x) for x in column)
    thresholds = [(a + b) / 2 for a, b in pairwise(present)]
    for threshold in [*thresholds, *([math.inf] if any_missing and present else [])]:
        for missing_left in [False, True] if any_missing and threshold < math.inf else [False]:
            yield threshold, missing_left, [missing_left if math.isnan(x) else x <= threshold for x in column]


def best_gain(kind, X, y, w, n_classes, min_samples_leaf=1, **parameters):
    """Return the largest gain per node weight over all features and cuts, or -inf if no cut is allowed."""

    def class_weights(rows):
        return [sum(w[i] for i in rows if y[i] == k) for k in range(n_classes)]

    all_rows = range(len(y))
    best = -math.inf
    for feature in range(len(X[0])):
        for _, _, goes_left in cuts([row[feature] for row in X]):
            left = [i for i in all_rows if goes_left[i]]
            right = [i for i in all_rows if not goes_left[i]]
            if min(len(left), len(right)) >= min_samples_leaf:
                best = max(best, gain(kind, class_weights(left), class_weights(right), n_classes, **parameters))
    return best


def find_leaf(tree, row):
    """Return the leaf of a row in a tree of scikit-learn style arrays."""
    node = 0
    while tree.children_left[node] != -1:
        x = row[tree.feature[node]]
        left = bool(tree.missing_go_to_left[node]) if math.isnan(x) else x <= tree.threshold[node]
        node = tree.children_left[node] if left else tree.children_right[node]
    return node
