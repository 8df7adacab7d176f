"""Checks and conversions of all numbers of some rows. The loops have no early exit, so that the compiler can vectorize
them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import kernel


@kernel
def has_infinity(X: NDArray[Any]) -> bool:
    """Return whether any number of X (row, feature) is infinite. X is in C order and writeable."""
    count = 0
    for cell in X.reshape(X.size):
        count += np.abs(cell) == np.inf
    return count > 0


@kernel
def has_missing(cells: NDArray[Any]) -> bool:
    """Return whether any of the cells (cell,) is NaN."""
    count = 0
    for cell in cells:
        count += cell != cell
    return count > 0


@kernel
def narrow_exactly(X: NDArray[np.float64], out: NDArray[np.float32]) -> bool:
    """Copy X (row, feature) to `out` of the same shape; return whether float32 can represent all numbers.

    Stops at the first row that it cannot represent; `out` is then incomplete.
    """
    for row in range(X.shape[0]):
        n_changed = 0
        for feature in range(X.shape[1]):
            out[row, feature] = X[row, feature]
            n_changed += (np.float64(out[row, feature]) != X[row, feature]) & (X[row, feature] == X[row, feature])
        if n_changed > 0:
            return False
    return True


@kernel
def clip_rows_to_simplex(values: NDArray[np.float64], steps_per_unit: float) -> None:
    """Round the numbers of values (row, class) to multiples of 1 / steps_per_unit, set negative ones to 0 and divide
    each row by its sum. A row without a positive number becomes uniform; one with NaN has NaN.
    """
    for row in values:
        total = 0.0
        for k in range(len(row)):
            rounded = np.rint(row[k] * steps_per_unit) / steps_per_unit
            row[k] = 0.0 if rounded <= 0.0 else rounded  # `max` could return -0.0
            total += row[k]
        for k in range(len(row)):
            row[k] = 1.0 / len(row) if total == 0.0 else row[k] / total


@kernel
def raise_rows_to_power(values: NDArray[np.float64], floor: float, power: float) -> None:
    """Replace each row of values (row, class) by the numbers (v + floor) ** power, divided by their sum, where v is the
    row without its negative numbers, divided by its sum. A row without a positive number becomes uniform.
    """
    for row in values:
        total = 0.0
        for k in range(len(row)):
            row[k] = 0.0 if row[k] <= 0.0 else row[k]  # `max` could return -0.0
            total += row[k]
        power_total = 0.0
        for k in range(len(row)):
            share = 0.0 if total == 0.0 else row[k] / total
            row[k] = (share + floor) ** power
            power_total += row[k]
        for k in range(len(row)):
            row[k] /= power_total
