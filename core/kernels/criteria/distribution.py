"""Criterion of the distribution losses: a tabulated curve of the least risk over the share of the smaller class."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.sides import ClassWeights, Side
from core.kernels.jit import inner_kernel


class TabulatedImpurity(NamedTuple):
    """Impurity min{1 - ||p||_inf, 2 (K - 1) / K C(x)}.

    x is defined by 1 - 2x = |p - center| / |vertex - center| in the simplex. Piece i of n of the curve C is the lower
    of two lines; lines[i] holds their values at x = 0 and their slopes. The knots between pieces are dense at both
    ends, where curves may bend like roots: x = (i / n)^2 up to x = 1/4, and 1/2 - x = (1 - i / n)^2 above.
    """

    lines: NDArray[np.float64]  # (piece, 4): value, slope, value, slope
    n_classes: int


@inner_kernel
def tabulated_risk(criterion: TabulatedImpurity, side: Side, class_weights: ClassWeights) -> float:
    """Return the risk, from the same sums as the negative exponential impurity.

    These are spread = W^2 (1 - ||p||_2^2) / 2, and the largest class weight.
    """
    n_classes, n_pieces = criterion.n_classes, criterion.lines.shape[0]
    # K / (K - 1) (1 - ||p||_2^2) = 4 x (1 - x), which rounding may raise above 1
    relative = min(1.0, 2.0 * side.spread / side.weight / side.weight * n_classes / max(n_classes - 1, 1))
    distance = math.sqrt(1.0 - relative)  # 1 - 2 x
    x = relative / (2.0 * (1.0 + distance))
    place = math.sqrt(x) if x < 0.25 else 1.0 - math.sqrt(0.5 * distance)
    piece = min(int(place * n_pieces), n_pieces - 1)
    lines = criterion.lines
    curve = min(lines[piece, 0] + lines[piece, 1] * x, lines[piece, 2] + lines[piece, 3] * x)
    return min(side.weight - side.largest, float(2.0 * (n_classes - 1) / n_classes * side.weight * curve))
