"""Classes of one node: their weights, and the positions of the classes that occur in it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel


class PresentClasses(NamedTuple):
    """Classes that occur in one node; all arrays (class,).

    The first entries of `numbers` and `weights` are the number and the weight of each class that is listed; position[k]
    is the index of class k among them.
    """

    numbers: NDArray[np.int64]
    weights: NDArray[np.float64]
    position: NDArray[np.uint16]


@inner_kernel
def sum_by_class(
    labels: NDArray[np.uint16],
    weights: NDArray[np.float64],
    class_weights: NDArray[np.float64],
    odd_row_weights: NDArray[np.float64],
) -> None:
    """Fill class_weights (class,) with the weight of each class.

    Odd rows have sums of their own, so that an addition does not depend on the one before it.
    """
    n_rows = labels.shape[0]
    class_weights[:] = 0.0
    odd_row_weights[:] = 0.0
    for i in range(0, n_rows - 1, 2):
        class_weights[labels[i]] += weights[i]
        odd_row_weights[labels[i + 1]] += weights[i + 1]
    if n_rows % 2 == 1:
        class_weights[labels[n_rows - 1]] += weights[n_rows - 1]
    for k in range(class_weights.shape[0]):
        class_weights[k] += odd_row_weights[k]


@inner_kernel
def list_present_classes(class_weights: NDArray[np.float64], present: PresentClasses, all_classes: bool) -> int:
    """List the classes that occur, or all classes; return the number of listed classes."""
    n_listed = 0
    for k in range(class_weights.shape[0]):
        # no branch, since the processor could not predict it; entries that are not listed are overwritten
        present.numbers[n_listed] = k
        present.weights[n_listed] = class_weights[k]
        present.position[k] = n_listed
        n_listed += int(all_classes or class_weights[k] > 0.0)
    return n_listed


@inner_kernel
def fill_positions(labels: NDArray[np.uint16], position: NDArray[np.uint16], positions: NDArray[np.uint16]) -> None:
    """Fill `positions` (row,) with the position of each row's class among those of the node."""
    for i in range(labels.shape[0]):
        positions[i] = position[labels[i]]
