"""The criterion of distribution losses: a curve of least risk over shares of the smaller class, kept as a table."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.sides import ClassWeights, Side
from core.kernels.jit import inner_kernel


class TabulatedImpurity(NamedTuple):
    """min{1 - ||p||_inf, 2 (K - 1) / K C(x)} with 1 - 2x = |p - centre| / |vertex - centre| in the simplex.

    Piece i of n of C is the lower of two lines: lines[i] holds their values at x = 0 and their slopes. Pieces meet at
    knots that crowd at both ends, where curves may bend like roots: x = (i / n)^2 up to x = 1/4, and
    1/2 - x = (1 - i / n)^2 from there.
    """

    lines: NDArray[np.float64]  # (piece, 4): value, slope, value, slope
    n_classes: int


@inner_kernel
def tabulated_risk(criterion: TabulatedImpurity, side: Side, class_weights: ClassWeights) -> float:
    """Reads what NE remembers: spread = W^2 (1 - ||p||_2^2) / 2, and the largest class weight."""
    n_classes, n_pieces = criterion.n_classes, criterion.lines.shape[0]
    # K / (K - 1) (1 - ||p||_2^2) = 4 x (1 - x), which rounding may lift above 1
    relative = min(1.0, 2.0 * side.spread / side.weight / side.weight * n_classes / max(n_classes - 1, 1))
    distance = math.sqrt(1.0 - relative)  # 1 - 2 x
    x = relative / (2.0 * (1.0 + distance))
    place = math.sqrt(x) if x < 0.25 else 1.0 - math.sqrt(0.5 * distance)
    piece = min(int(place * n_pieces), n_pieces - 1)
    lines = criterion.lines
    curve = min(lines[piece, 0] + lines[piece, 1] * x, lines[piece, 2] + lines[piece, 3] * x)
    return min(side.weight - side.largest, float(2.0 * (n_classes - 1) / n_classes * side.weight * curve))
