"""Parameters of growth that trees and forests share: types, bounds, help and meaning, written once."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from core.losses.base import Loss
from core.parameters import SELF_CHECKED, SERVER_SIDE, Bounds, Help
from core.randomness import Seed

#: No tree has more rows or levels, and sums of two such counts fit the kernels' integers.
LARGEST_COUNT = 2**31 - 1

LossChoice = Annotated[
    str | Mapping[str, Any] | Loss,
    SELF_CHECKED,
    Help("Loss whose training risk the splits minimise: a name, or a mapping with its parameters."),
]
MaxDepth = Annotated[
    int | None, Bounds(ge=1, le=LARGEST_COUNT), Help("Longest path from the root to a leaf; none = no limit.")
]
MaxLeafNodes = Annotated[
    int | None,
    Bounds(ge=2, le=LARGEST_COUNT),
    Help("Most leaves; the splits that lower the training risk most are made first. None = no limit."),
]
MinSamplesLeaf = Annotated[int, Bounds(ge=1, le=LARGEST_COUNT), Help("Fewest training rows in a leaf.")]
MinRiskDecrease = Annotated[
    float, Bounds(ge=0), Help("A split must lower the training risk of the loss by more than this.")
]
MaxFeatures = Annotated[
    Annotated[int, Bounds(ge=1)] | Annotated[float, Bounds(gt=0, le=1)] | Literal["sqrt", "log2"] | None,
    Help("Features drawn at a node, constant ones included: a number, a share, or none = all."),
]
Splitter = Annotated[Literal["best", "random"], Help("Of each feature drawn, the best cut or one at random.")]
MaxBins = Annotated[
    int | None,
    Bounds(ge=2, le=256),
    Help("Most bins of a feature; one with no more distinct values loses nothing. None = a bin for every value."),
]
ClassWeights = Annotated[
    Mapping[Any, Annotated[float, Bounds(ge=0)]] | Literal["balanced"] | None,
    Help("Weight of each class, multiplied into the rows' weights."),
]
CorrectionChoice = Annotated[
    Mapping[str, Any] | None,
    SELF_CHECKED,
    SERVER_SIDE,
    Help("Correct for label noise of a transition matrix, known or estimated: forward or backward; none = do not."),
]
RandomState = Annotated[Seed, SELF_CHECKED, SERVER_SIDE, Help("Seed of everything random in the fit.")]
Jobs = Annotated[
    int | None, SERVER_SIDE, Help("Threads; none = 1, -1 = one per processor. Results do not depend on it.")
]


def feature_count(max_features: int | float | str | None, n_features: int) -> int:
    """How many features `max_features` means for a data set of `n_features`."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(np.log2(n_features)))
    if isinstance(max_features, float):
        return max(1, int(max_features * n_features))
    return min(int(max_features), n_features)
