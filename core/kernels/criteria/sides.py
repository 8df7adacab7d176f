"""What a criterion sees of a cut: two sides that grow class by class, and tables of functions of whole weights."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel

ClassWeights = NDArray[np.float64]

#: Tables of a function of 0, 1, ... end before this weight. 256 KiB each; larger sides are few and pay for the formula.
TABLE_LENGTH = 2**15


class Side(NamedTuple):
    """Rows on one side of a cut, summed up. The last two fields are for the criterion, which may leave them at 0.

    The class weights of a side go beside it, (class,), and may leave out classes absent from the node: with an array
    among its fields, each new side would count references, which takes longer than all else in the loop.
    """

    weight: float
    spread: float  # what the criterion sums over classes
    largest: float  # largest class weight


NOTHING = Side(0.0, 0.0, 0.0)


@inner_kernel
def is_pure(side: Side) -> bool:
    """Whether one class holds all the weight, for criteria that remember the largest; exact, since both sums then ran
    over the same numbers in the same order.
    """
    return side.largest >= side.weight


@inner_kernel
def table_index(table: NDArray[np.float64], weight: float) -> int:
    """Where a table of a function of whole weights has `weight` >= 0, -1 when it is not whole or too large."""
    if weight < table.shape[0]:
        index = int(weight)
        if index == weight:
            return index
    return -1
