"""Parameters that all classifiers made of trees share: their types, bounds, help texts and meaning."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from core.losses.base import Loss
from core.parameters import SELF_CHECKED, SERVER_SIDE, Bounds, Help
from core.randomness import Seed

#: Upper bound of all counts. No tree has more rows or levels, and the kernels can add two such counts.
LARGEST_COUNT = 2**31 - 1

LossChoice = Annotated[
    str | Mapping[str, Any] | Loss,
    SELF_CHECKED,
    Help("Loss whose training risk the splits minimize, as a name or as a mapping of its kind and parameters."),
]
MaxDepth = Annotated[
    int | None,
    Bounds(ge=1, le=LARGEST_COUNT),
    Help("Maximum depth of a tree, in edges from the root to a leaf. If unset, the depth is not limited."),
]
MaxLeafNodes = Annotated[
    int | None,
    Bounds(ge=2, le=LARGEST_COUNT),
    Help(
        "Maximum number of leaves of a tree. If set, the splits that decrease the training risk most are made first. "
        "If unset, the number is not limited."
    ),
]
MinSamplesLeaf = Annotated[int, Bounds(ge=1, le=LARGEST_COUNT), Help("Minimum number of training rows in a leaf.")]
MinRiskDecrease = Annotated[
    float, Bounds(ge=0), Help("A node is split only if the training risk decreases by more than this value.")
]
MaxFeatures = Annotated[
    Annotated[int, Bounds(ge=1)] | Annotated[float, Bounds(gt=0, le=1)] | Literal["sqrt", "log2"] | None,
    Help(
        "Features drawn at random for each node, including those that are constant in it: a number, a fraction of all "
        "features, or `sqrt` or `log2` of their number. If unset, all features are used."
    ),
]
Splitter = Annotated[
    Literal["best", "random"],
    Help("Threshold of each feature considered: `best` searches all of them, `random` draws one."),
]
MaxBins = Annotated[
    int | None,
    Bounds(ge=2, le=256),
    Help(
        "Maximum number of bins of a feature. Features with at most this many distinct values are binned without loss; "
        "if unset, every distinct value has its own bin."
    ),
]
ClassWeights = Annotated[
    Mapping[Any, Annotated[float, Bounds(ge=0)]] | Literal["balanced"] | None,
    Help(
        "Weight of each class, by which the weights of its rows are multiplied. `balanced` gives all classes the same "
        "total weight. If unset, all classes have weight 1."
    ),
]
CorrectionChoice = Annotated[
    Mapping[str, Any] | None,
    SELF_CHECKED,
    SERVER_SIDE,
    Help("Correction for label noise with a known or estimated transition matrix. If unset, labels are not corrected."),
]
RandomState = Annotated[Seed, SELF_CHECKED, SERVER_SIDE, Help("Seed of all random choices of the fit.")]
Jobs = Annotated[
    int | None,
    SERVER_SIDE,
    Help(
        "Number of threads; -1 uses all processors, -2 all but one, and 0 is refused. If unset, one thread is used. "
        "Results do not depend on it."
    ),
]


def feature_count(max_features: int | float | str | None, n_features: int) -> int:
    """Return the number of features that `max_features` stands for in a data set of `n_features` features."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(np.log2(n_features)))
    if isinstance(max_features, float):
        return max(1, int(max_features * n_features))
    return min(int(max_features), n_features)
