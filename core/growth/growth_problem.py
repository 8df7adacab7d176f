"""Input that all trees of a fit share: binned features, class numbers, limits and workspaces."""

import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.groups import Groups
from core.growth.binning import bin_features
from core.growth.growth_parameters import feature_count
from core.kernels.features import BinnedFeatures
from core.kernels.growth.growth_workspace import GrowthLimits, GrowthWorkspace, new_growth_workspace
from core.kernels.search.search_workspace import SearchLimits
from core.validation.training_data import TrainingData

_NO_LIMIT = np.iinfo(np.int64).max


class GrowthSettings(NamedTuple):
    """Parameters of growth, with the names and meanings that they have in the classifiers."""

    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_leaf: int = 1
    min_risk_decrease: float = 0.0
    max_features: int | float | str | None = None
    splitter: str = "best"
    max_bins: int | None = 256

    def limits(self, n_features: int) -> GrowthLimits:
        """Return the limits that the kernels read, for a data set of `n_features` features."""
        return GrowthLimits(
            max_depth=_NO_LIMIT if self.max_depth is None else int(self.max_depth),
            max_leaf_nodes=int(self.max_leaf_nodes or 0),
            min_risk_decrease=float(self.min_risk_decrease),
            search=SearchLimits(
                max_features=feature_count(self.max_features, n_features),
                min_samples_leaf=int(self.min_samples_leaf),
                rows_per_weight=1.0,
            ),
        )


class ThreadWorkspaces(threading.local):
    """One growth workspace per thread, allocated when the thread grows its first tree and freed with the thread.

    A tree may hold each row of the features up to `n_copies` times. `random_cuts`: each feature of a node is cut at
    random instead of at the best place.
    """

    def __init__(self, n_copies: int = 1, random_cuts: bool = False) -> None:
        self._n_copies, self.random_cuts = n_copies, random_cuts
        self._workspace: GrowthWorkspace | None = None

    def get(self, features: BinnedFeatures, n_classes: int) -> GrowthWorkspace:
        """Return the workspace of the calling thread, which fits any tree on `features`."""
        if self._workspace is None:
            n_rows = self._n_copies * features.codes.shape[1]
            self._workspace = new_growth_workspace(features, n_rows, n_classes, self.random_cuts)
        return self._workspace


class GrowthProblem(NamedTuple):
    """Input that all trees of a fit share."""

    features: BinnedFeatures
    labels: NDArray[np.uint16]  # (row,), class numbers
    n_classes: int
    limits: GrowthLimits
    workspaces: ThreadWorkspaces
    groups: Groups | None = None  # which bootstrap samples are drawn by, instead of by rows

    def with_settings(self, settings: GrowthSettings) -> "GrowthProblem":
        """Return the problem of growing trees with other `settings` on the same bins, rows and labels.

        A tree holds each row once.
        """
        return self._replace(
            limits=settings.limits(self.features.codes.shape[0]),
            workspaces=ThreadWorkspaces(random_cuts=settings.splitter == "random"),
        )


def growth_problem(
    data: TrainingData,
    settings: GrowthSettings,
    n_threads: int,
    stop_flag: NDArray[np.uint8],
    n_classes: int | None = None,
    n_copies: int = 1,
) -> GrowthProblem:
    """Bin the rows of `data` and return the problem of growing trees on them. Raises FitStopped.

    `n_classes` defaults to the classes of the labels; trees that grow on labels of their own, such as one class against
    the rest, state it. A tree may hold each row up to `n_copies` times.
    """
    return GrowthProblem(
        bin_features(data.X, settings.max_bins, n_threads, data.is_categorical, stop_flag),
        data.labels.codes.astype(np.uint16),
        len(data.labels.classes) if n_classes is None else n_classes,
        settings.limits(data.X.shape[1]),
        ThreadWorkspaces(n_copies, settings.splitter == "random"),
        data.groups,
    )
