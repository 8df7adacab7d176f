"""Sides of a cut as a criterion sees them, and lookups in tables of functions of integer weights."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel

ClassWeights = NDArray[np.float64]

#: Length of the tables of functions of the weights 0, 1, ...: 1 MiB each, filled in milliseconds. For the few larger
#: weights the formula is computed.
TABLE_LENGTH = 2**17


class Side(NamedTuple):
    """Sums over the rows on one side of a cut. The last two fields belong to the criterion, which may leave them at 0.

    The class weights of a side (class,) are stored beside it, and may leave out classes that are absent from the node.
    As a field they would make numba count references for each new side, which takes longer than the rest of the loop.
    """

    weight: float
    spread: float  # sum over classes, defined by the criterion
    largest: float  # largest class weight


EMPTY_SIDE = Side(0.0, 0.0, 0.0)


@inner_kernel
def is_pure(side: Side) -> bool:
    """Return whether one class has all the weight, for criteria that store the largest class weight.

    The comparison is exact, since both sums added the same numbers in the same order.
    """
    return side.largest >= side.weight


@inner_kernel
def table_index(table: NDArray[np.float64], weight: float) -> int:
    """Return the index of `weight` >= 0 in a table of integer weights, or -1 if it is no integer or too large."""
    if weight < table.shape[0]:
        index = int(weight)
        if index == weight:
            return index
    return -1
