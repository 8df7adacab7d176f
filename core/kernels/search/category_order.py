"""Order of the categories of a feature in a node, in which a split cuts them as if they were numbers.

Two classes: by the share of the second class. For a concave impurity the best cut of this order is the best of all
subsets (Fisher 1958; Breiman et al. 1984, theorem 4.5). More classes: by the first principal component of the class
shares, weighted by the weights of the categories (Coppersmith, Hong and Hosking 1999), for all criteria. Categories
with equal shares get the same rank.

Categories with few rows have extreme shares by chance, and among thousands of them a cut separates any labels. For more
than FREE_CATEGORIES, the shares are therefore seen as random effects. With Pearson's chi-square of the table of m
categories and K classes,

    excess = chi2 - (m - FREE_CATEGORIES) (K - 1)        what chance does not explain
    t      = excess / (n - sum_c n_c^2 / n)              variance of the true shares, by moments
    r_c    = n_c / (n_c + (K - 1) / t)                   shrinkage of a category's share to that of the node
    factor = excess / chi2                               by which the gain of the cut is multiplied

(DerSimonian and Laird 1986; the factor is that of James and Stein 1961.) A feature of noise has little gain.
"""

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inlined_kernel, inner_kernel
from core.kernels.search.categories import CategoryWorkspace
from core.kernels.search.category_component import VALUE_TOLERANCE, fill_component

#: Number of categories up to which neither order nor gain are regularized.
FREE_CATEGORIES = 8
_RUN_LENGTH = 16


@inner_kernel
def _sum_slots(
    n_slots: int,
    starts: NDArray[np.int64],
    classes: NDArray[np.uint16],
    entry_weights: NDArray[np.float64],
    weights: NDArray[np.float64],
    class_weights: NDArray[np.float64],
) -> float:
    """Fill weights (slot,) and class_weights (class,); return the weight of all slots."""
    class_weights[:] = 0.0
    total = 0.0
    for slot in range(n_slots):
        weight = 0.0
        for entry in range(starts[slot], starts[slot + 1]):
            weight += entry_weights[entry]
            class_weights[classes[entry]] += entry_weights[entry]
        weights[slot] = weight
        total += weight
    return total


@inner_kernel
def _fill_shares(
    n_slots: int,
    starts: NDArray[np.int64],
    classes: NDArray[np.uint16],
    entry_weights: NDArray[np.float64],
    weights: NDArray[np.float64],
    shares: NDArray[np.float64],
) -> tuple[float, float]:
    """Fill weights (slot,) and the shares (slot,) of the second of two classes; return the sums of both weights."""
    total = second_total = 0.0
    for slot in range(n_slots):
        weight = second = 0.0
        for entry in range(starts[slot], starts[slot + 1]):
            weight += entry_weights[entry]
            second += entry_weights[entry] * float(classes[entry])
        weights[slot], shares[slot] = weight, second / weight
        total += weight
        second_total += second
    return total, second_total


@inner_kernel
def _two_class_chi_square(
    n_slots: int, mean: float, weights: NDArray[np.float64], shares: NDArray[np.float64]
) -> float:
    """Return the sum over cells of (observed - expected)^2 / expected, from the shares of the second class."""
    variance, squares = mean * (1.0 - mean), 0.0
    for slot in range(n_slots):
        squares += weights[slot] * (shares[slot] - mean) ** 2
    return squares / variance if variance > 0.0 else 0.0


@inner_kernel
def _chi_square(
    n_slots: int,
    total: float,
    starts: NDArray[np.int64],
    classes: NDArray[np.uint16],
    entry_weights: NDArray[np.float64],
    weights: NDArray[np.float64],
    class_weights: NDArray[np.float64],
    sums: NDArray[np.float64],
    reciprocals: NDArray[np.float64],
) -> float:
    """Return the sum over cells of (observed - expected)^2 / expected; overwrites sums and reciprocals (class,)."""
    for k in range(class_weights.shape[0]):
        sums[k], reciprocals[k] = 0.0, 1.0 / class_weights[k] if class_weights[k] > 0.0 else 0.0
    ratio = 0.0
    for slot in range(n_slots):
        squares = 0.0
        for entry in range(starts[slot], starts[slot + 1]):
            k, added = classes[entry], entry_weights[entry]
            squares += added * (2.0 * sums[k] + added) * reciprocals[k]
            sums[k] += added
        for entry in range(starts[slot], starts[slot + 1]):
            sums[classes[entry]] = 0.0
        ratio += squares / weights[slot]
    return total * max(ratio - 1.0, 0.0)


@inner_kernel
def _fill_shrinkage(
    n_slots: int,
    n_classes: int,
    excess: float,
    total: float,
    rows_per_weight: float,
    weights: NDArray[np.float64],
    shrinkage: NDArray[np.float64],
) -> None:
    """Fill shrinkage (slot,); see the module's docstring."""
    n_rows, squares = total * rows_per_weight, 0.0
    for slot in range(n_slots):
        squares += (rows_per_weight * weights[slot]) ** 2
    prior_rows = (n_classes - 1) * (n_rows - squares / n_rows) / excess
    for slot in range(n_slots):
        rows = rows_per_weight * weights[slot]
        shrinkage[slot] = rows / (rows + prior_rows)


@inner_kernel
def _shrink_shares(n_slots: int, mean: float, shrinkage: NDArray[np.float64], shares: NDArray[np.float64]) -> None:
    for slot in range(n_slots):
        shares[slot] = mean + shrinkage[slot] * (shares[slot] - mean)


@inlined_kernel
def _order_two_classes(n_slots: int, rows_per_weight: float, workspace: CategoryWorkspace) -> float:
    """Fill values (slot,) with the shares of the second class; return the factor of the gain.

    rows_per_weight = 0: without regularization.
    """
    starts, weights, values = workspace.starts, workspace.weights, workspace.values
    total, second = _fill_shares(n_slots, starts, workspace.classes, workspace.entry_weights, weights, values)
    if rows_per_weight <= 0.0:
        return 1.0
    mean = second / total
    chi_square = rows_per_weight * _two_class_chi_square(n_slots, mean, weights, values)
    excess = chi_square - float(n_slots - FREE_CATEGORIES)
    if excess <= 0.0:
        return 0.0
    _fill_shrinkage(n_slots, 2, excess, total, rows_per_weight, weights, workspace.shrinkage)
    _shrink_shares(n_slots, mean, workspace.shrinkage, values)
    return excess / chi_square


@inlined_kernel
def _order_classes(n_slots: int, n_classes: int, rows_per_weight: float, workspace: CategoryWorkspace) -> float:
    """Fill values (slot,) with the first principal component of the class shares; return the factor of the gain."""
    starts, classes, entry_weights = workspace.starts, workspace.classes, workspace.entry_weights
    weights, shrinkage, class_weights = workspace.weights, workspace.shrinkage, workspace.class_weights[:n_classes]
    direction, product = workspace.direction[:n_classes], workspace.next_direction[:n_classes]
    total, factor = _sum_slots(n_slots, starts, classes, entry_weights, weights, class_weights), 1.0
    if rows_per_weight > 0.0:
        chi_square = rows_per_weight * _chi_square(
            n_slots, total, starts, classes, entry_weights, weights, class_weights, direction, product
        )
        excess = chi_square - float((n_slots - FREE_CATEGORIES) * (n_classes - 1))
        if excess <= 0.0:
            return 0.0
        factor = excess / chi_square
        _fill_shrinkage(n_slots, n_classes, excess, total, rows_per_weight, weights, shrinkage)
    else:
        shrinkage[:n_slots] = 1.0
    fill_component(
        n_slots, total, starts, classes, entry_weights, weights, shrinkage, class_weights, direction, product,
        workspace.covariance, workspace.values,
    )  # fmt: skip
    return factor


@inner_kernel
def _merge_runs(
    values: NDArray[np.float64],
    order: NDArray[np.int32],
    n_slots: int,
    width: int,
    merged_values: NDArray[np.float64],
    merged_order: NDArray[np.int32],
) -> None:
    """Merge ascending runs of `width` slots to runs of twice the width."""
    for first in range(0, n_slots, 2 * width):
        middle, end = min(first + width, n_slots), min(first + 2 * width, n_slots)
        i, j = first, middle
        for place in range(first, end):
            if j == end or (i < middle and values[i] <= values[j]):
                merged_values[place], merged_order[place] = values[i], order[i]
                i += 1
            else:
                merged_values[place], merged_order[place] = values[j], order[j]
                j += 1


@inner_kernel
def sort_slots(
    values: NDArray[np.float64],
    n_slots: int,
    order: NDArray[np.int32],
    spare_values: NDArray[np.float64],
    spare_order: NDArray[np.int32],
) -> None:
    """Sort values (slot,) in place and fill order (slot,) with their slots, equal ones ascending; overwrites spares."""
    for first in range(0, n_slots, _RUN_LENGTH):
        for i in range(first, min(first + _RUN_LENGTH, n_slots)):
            value = values[i]
            j = i
            while j > first and values[j - 1] > value:
                values[j], order[j] = values[j - 1], order[j - 1]
                j -= 1
            values[j], order[j] = value, i
    width = _RUN_LENGTH
    while width < n_slots:
        _merge_runs(values, order, n_slots, width, spare_values, spare_order)
        for i in range(n_slots):
            values[i], order[i] = spare_values[i], spare_order[i]
        width *= 2


@inlined_kernel
def order_categories(n_slots: int, n_classes: int, rows_per_weight: float, workspace: CategoryWorkspace) -> float:
    """Fill order and values (slot,), ascending; return the factor of the gain, in [0, 1].

    rows_per_weight = 0: without regularization. If the factor is 0, nothing is filled.
    """
    evidence = rows_per_weight if n_slots > FREE_CATEGORIES else 0.0
    if n_classes == 2:
        factor = _order_two_classes(n_slots, evidence, workspace)
    else:
        factor = _order_classes(n_slots, n_classes, evidence, workspace)
    if factor > 0.0:
        sort_slots(workspace.values, n_slots, workspace.order, workspace.spare_values, workspace.spare_order)
    return factor


@inner_kernel
def fill_ranks(
    n_slots: int,
    values: NDArray[np.float64],
    order: NDArray[np.int32],
    listed: NDArray[np.int32],
    ranks: NDArray[np.int32],
) -> int:
    """Fill ranks (code,) of the listed categories by their ascending values (slot,); return the number of ranks.

    Equal values have the same rank.
    """
    rank, before = -1, -np.inf
    for j in range(n_slots):
        rank += int(values[j] - before > VALUE_TOLERANCE)
        before = values[j]
        ranks[listed[order[j]]] = rank
    return rank + 1
