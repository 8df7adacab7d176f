"""Coordinate descent on the penalised form of robust minimax boosting (see `core.boosting.even_duals`).

    minimise  -tau mu + lambda ||mu||_1 + sharpness / 2 * sum_i share_i max(|m_i| - 1/2, 0)^2,   m_i = u_i mu

The tables are those of `core.kernels.rule_outputs`.
"""

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import kernel

_MARGIN_LIMIT = 0.5
#: Least curvature of a coordinate, as a share of the rows: where few are beyond the limit a full step goes too far.
_LEAST_CURVATURE = 0.02
#: A step is cut back at most so often, and only while what remains of the slope is more than this share of it.
_MOST_CUTS = 4
_SMALL_SHARE = 0.1


@kernel
def _penalty_along(
    leaf_of_row: NDArray[np.uint8],
    outputs: NDArray[np.float64],
    shares: NDArray[np.float64],
    margins: NDArray[np.float64],
    step: float,
) -> tuple[float, float]:
    """First and second derivative of the penalty, without its sharpness, after a step in the weight of a rule."""
    slope, curvature = 0.0, 0.0
    for i in range(margins.shape[0]):
        output = outputs[np.uint64(leaf_of_row[i])]
        margin = margins[i] + step * output
        excess = abs(margin) - _MARGIN_LIMIT
        if excess > 0.0:
            weighted = shares[i] * output
            slope += weighted * (excess if margin > 0.0 else -excess)
            curvature += weighted * output
    return slope, curvature


@kernel
def _steepest(slope: float, weight: float, regularization: float) -> float:
    """The derivative of the whole, at a weight of zero that of the side which falls; 0 if neither does."""
    if weight > 0.0:
        return slope + regularization
    if weight < 0.0:
        return slope - regularization
    return slope - min(max(slope, -regularization), regularization)


@kernel
def _shrunken(value: float, by: float) -> float:
    return value - min(max(value, -by), by)


@kernel
def sweep_rule_weights(
    leaves: NDArray[np.uint8],
    rules: NDArray[np.int64],
    outputs: NDArray[np.float64],
    tau: NDArray[np.float64],
    shares: NDArray[np.float64],
    sharpness: float,
    regularization: float,
    weights: NDArray[np.float64],
    margins: NDArray[np.float64],
) -> float:
    """Go through the weights (k,) of `rules` (k,), the newest first, and take each nearly to its minimum. Keeps margins
    (row,) with them; outputs (k, leaf). Returns the steepest derivative that was met.
    """
    steepest = 0.0
    for k in range(rules.shape[0] - 1, -1, -1):
        leaf_of_row, of_rule, weight = leaves[rules[k]], outputs[k], weights[k]
        slope, curvature = _penalty_along(leaf_of_row, of_rule, shares, margins, 0.0)
        slope = sharpness * slope - tau[k]
        before = abs(_steepest(slope, weight, regularization))
        steepest = max(steepest, before)
        if before == 0.0:
            continue
        curvature = sharpness * max(curvature, _LEAST_CURVATURE)
        step = _shrunken(weight - slope / curvature, regularization / curvature) - weight
        for _ in range(_MOST_CUTS):
            after = _overshoot(leaf_of_row, of_rule, tau[k], shares, sharpness, regularization, weight, step, margins)
            if after <= _SMALL_SHARE * before:
                break
            step *= before / (before + after)
        weights[k] = weight + step
        for i in range(margins.shape[0]):
            margins[i] += step * of_rule[np.uint64(leaf_of_row[i])]
    return steepest


@kernel
def _overshoot(
    leaf_of_row: NDArray[np.uint8],
    outputs: NDArray[np.float64],
    tau: float,
    shares: NDArray[np.float64],
    sharpness: float,
    regularization: float,
    weight: float,
    step: float,
    margins: NDArray[np.float64],
) -> float:
    """How steeply the whole rises again after `step`, in the direction of the step; 0 if it still falls."""
    after = weight + step
    if after == 0.0 or step == 0.0:
        return 0.0
    slope, _ = _penalty_along(leaf_of_row, outputs, shares, margins, step)
    total = sharpness * slope - tau + (regularization if after > 0.0 else -regularization)
    return max(total if step > 0.0 else -total, 0.0)
