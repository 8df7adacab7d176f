"""First principal component of the class shares of categories, by the power method.

The covariance of the shares p_c, which are shrunk to the share p of the node by r_c, is

    C = sum_c w_c r_c^2 (p_c - p) (p_c - p)^T

The direction starts at the class whose share varies most, which also determines its sign. For few classes C is formed
once; for many, most of its entries would be zero, and it is multiplied category by category. A few steps suffice: the
order of the categories settles long before the direction does.
"""

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inlined_kernel, inner_kernel

#: Values that differ by no more are equal but for rounding.
VALUE_TOLERANCE = 1e-12
#: Number of classes up to which the covariance is formed.
MAX_CLASSES_FORMED = 16
#: Most multiplications; there are fewer if the direction changes by less than the tolerance.
_MAX_STEPS = 8
_STEP_TOLERANCE = 1e-4


@inner_kernel
def _project(
    n_slots: int,
    total: float,
    starts: NDArray[np.int64],
    classes: NDArray[np.uint16],
    entry_weights: NDArray[np.float64],
    weights: NDArray[np.float64],
    shrinkage: NDArray[np.float64],
    class_weights: NDArray[np.float64],
    direction: NDArray[np.float64],
    values: NDArray[np.float64],
) -> None:
    """Fill values (slot,) with the shrunk class shares, less those of all slots, times `direction` (class,)."""
    mean = 0.0
    for k in range(direction.shape[0]):
        mean += class_weights[k] * direction[k]
    mean /= total
    for slot in range(n_slots):
        product = 0.0
        for entry in range(starts[slot], starts[slot + 1]):
            product += entry_weights[entry] * direction[classes[entry]]
        values[slot] = shrinkage[slot] * (product / weights[slot] - mean)


@inlined_kernel
def _multiply(
    n_slots: int,
    total: float,
    starts: NDArray[np.int64],
    classes: NDArray[np.uint16],
    entry_weights: NDArray[np.float64],
    weights: NDArray[np.float64],
    shrinkage: NDArray[np.float64],
    class_weights: NDArray[np.float64],
    values: NDArray[np.float64],
    product: NDArray[np.float64],
) -> float:
    """Fill product (class,) with the covariance of the class shares times the direction of `_project`.

    It is scaled to length 1; returns the length before, or 0 for equal shares.
    """
    product[:] = 0.0
    moved = 0.0
    for slot in range(n_slots):
        factor = shrinkage[slot] * values[slot]
        moved += factor * weights[slot]
        for entry in range(starts[slot], starts[slot + 1]):
            product[classes[entry]] += factor * entry_weights[entry]
    length = 0.0
    for k in range(product.shape[0]):
        product[k] -= moved * class_weights[k] / total
        length += product[k] * product[k]
    length = np.sqrt(length)
    if length <= VALUE_TOLERANCE * total:
        return 0.0
    for k in range(product.shape[0]):
        product[k] /= length
    return float(length)


@inlined_kernel
def _most_variable_class(
    n_slots: int,
    total: float,
    starts: NDArray[np.int64],
    classes: NDArray[np.uint16],
    entry_weights: NDArray[np.float64],
    weights: NDArray[np.float64],
    class_weights: NDArray[np.float64],
    sums: NDArray[np.float64],
    squares: NDArray[np.float64],
) -> int:
    """Return the class whose share varies most between categories, the first of equal ones.

    The variance is sum_c w_c p_c^2 - w p^2; sums and squares (class,) are overwritten.
    """
    sums[:], squares[:] = 0.0, 0.0
    for slot in range(n_slots):
        for entry in range(starts[slot], starts[slot + 1]):
            k, added = classes[entry], entry_weights[entry]
            squares[k] += added * (2.0 * sums[k] + added) / weights[slot]
            sums[k] += added
        for entry in range(starts[slot], starts[slot + 1]):
            sums[classes[entry]] = 0.0
    best, largest = 0, -np.inf
    for k in range(class_weights.shape[0]):
        variance = squares[k] - class_weights[k] * class_weights[k] / total
        if variance > largest + VALUE_TOLERANCE * total:
            best, largest = k, variance
    return best


@inner_kernel
def _iterate_over_entries(
    n_slots: int,
    total: float,
    starts: NDArray[np.int64],
    classes: NDArray[np.uint16],
    entry_weights: NDArray[np.float64],
    weights: NDArray[np.float64],
    shrinkage: NDArray[np.float64],
    class_weights: NDArray[np.float64],
    direction: NDArray[np.float64],
    product: NDArray[np.float64],
    values: NDArray[np.float64],
) -> None:
    """Fill direction (class,) by multiplications with the covariance, which is not formed; overwrites the rest."""
    first_class = _most_variable_class(
        n_slots, total, starts, classes, entry_weights, weights, class_weights, direction, product
    )
    direction[:] = 0.0
    direction[first_class] = 1.0
    _project(n_slots, total, starts, classes, entry_weights, weights, shrinkage, class_weights, direction, values)
    for _ in range(_MAX_STEPS):
        length = _multiply(
            n_slots, total, starts, classes, entry_weights, weights, shrinkage, class_weights, values, product
        )
        if length == 0.0:
            break
        change = 0.0
        for k in range(direction.shape[0]):
            change += (product[k] - direction[k]) ** 2
            direction[k] = product[k]
        _project(n_slots, total, starts, classes, entry_weights, weights, shrinkage, class_weights, direction, values)
        if change < _STEP_TOLERANCE:
            break


@inner_kernel
def _fill_covariance(
    n_slots: int,
    total: float,
    starts: NDArray[np.int64],
    classes: NDArray[np.uint16],
    entry_weights: NDArray[np.float64],
    weights: NDArray[np.float64],
    shrinkage: NDArray[np.float64],
    class_weights: NDArray[np.float64],
    moved: NDArray[np.float64],
    sums: NDArray[np.float64],
    covariance: NDArray[np.float64],
) -> None:
    """Fill covariance (class, class); overwrites moved and sums (class,).

    Expanded, C is sum_c r_c^2 s_c s_c^T / w_c - a p^T - p a^T + b p p^T for the class weights s_c = w_c p_c,
    a = sum_c r_c^2 s_c and b = sum_c r_c^2 w_c.
    """
    n_classes = class_weights.shape[0]
    covariance[:n_classes, :n_classes] = 0.0
    moved[:], sums[:] = 0.0, 0.0
    weight = 0.0
    for slot in range(n_slots):
        squared = shrinkage[slot] * shrinkage[slot]
        factor = squared / weights[slot]
        weight += squared * weights[slot]
        for entry in range(starts[slot], starts[slot + 1]):
            sums[classes[entry]] += entry_weights[entry]
        for entry in range(starts[slot], starts[slot + 1]):
            k, added = classes[entry], entry_weights[entry]
            moved[k] += squared * added
            for other in range(n_classes):
                covariance[k, other] += factor * added * sums[other]
        for entry in range(starts[slot], starts[slot + 1]):
            sums[classes[entry]] = 0.0
    for k in range(n_classes):
        for other in range(n_classes):
            mean, other_mean = class_weights[k] / total, class_weights[other] / total
            covariance[k, other] += weight * mean * other_mean - moved[k] * other_mean - mean * moved[other]


@inner_kernel
def _iterate(
    covariance: NDArray[np.float64], total: float, direction: NDArray[np.float64], product: NDArray[np.float64]
) -> None:
    """Fill direction (class,) by multiplications with `covariance`; overwrites product (class,)."""
    n_classes, first_class = direction.shape[0], 0
    for k in range(n_classes):
        direction[k] = 0.0
        if covariance[k, k] > covariance[first_class, first_class] + VALUE_TOLERANCE * total:
            first_class = k
    direction[first_class] = 1.0
    for _ in range(_MAX_STEPS):
        squares = 0.0
        for k in range(n_classes):
            product[k] = 0.0
            for other in range(n_classes):
                product[k] += covariance[k, other] * direction[other]
            squares += product[k] * product[k]
        length, change = np.sqrt(squares), 0.0
        if length <= VALUE_TOLERANCE * total:
            break
        for k in range(n_classes):
            change += (product[k] / length - direction[k]) ** 2
            direction[k] = product[k] / length
        if change < _STEP_TOLERANCE:
            break


@inlined_kernel
def fill_component(
    n_slots: int,
    total: float,
    starts: NDArray[np.int64],
    classes: NDArray[np.uint16],
    entry_weights: NDArray[np.float64],
    weights: NDArray[np.float64],
    shrinkage: NDArray[np.float64],
    class_weights: NDArray[np.float64],
    direction: NDArray[np.float64],
    product: NDArray[np.float64],
    covariance: NDArray[np.float64],
    values: NDArray[np.float64],
) -> None:
    """Fill values (slot,) with the first principal component of the class shares of each category.

    The categories have `weights` and `shrinkage` (slot,) and the entries starts[slot] to starts[slot + 1]. Overwrites
    direction and product (class,) and covariance.
    """
    if class_weights.shape[0] <= MAX_CLASSES_FORMED:
        _fill_covariance(
            n_slots, total, starts, classes, entry_weights, weights, shrinkage, class_weights, direction, product,
            covariance,
        )  # fmt: skip
        _iterate(covariance, total, direction, product)
    else:
        _iterate_over_entries(
            n_slots, total, starts, classes, entry_weights, weights, shrinkage, class_weights, direction, product,
            values,
        )  # fmt: skip
    _project(n_slots, total, starts, classes, entry_weights, weights, shrinkage, class_weights, direction, values)
