"""Fits that people usually ask for first, whose kernels are compiled before anybody waits for them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from core.boosting.rmboost import RMBoostClassifier
from core.forests.forest import ExtraTreesClassifier, ForestClassifier
from core.forests.tree import TreeClassifier
from core.registry import AnyClassifier
from core.warmup.kernels import (
    warm_up_category_ranking,
    warm_up_fit,
    warm_up_kernel_ridge,
    warm_up_linear_programs,
    warm_up_pruning,
)

#: Categories of the feature that has most of them, in data with categories; up to 255 need the same kernels.
_FEW_CATEGORIES = 2


def usual_fits() -> list[AnyClassifier]:
    """Return the fits in the order of their compilation.

    A request that names no model needs the first two, which two processes compile at the same time.
    """
    return [
        ForestClassifier(),
        ExtraTreesClassifier(),
        ForestClassifier(loss="adaptive_ne"),
        RMBoostClassifier(),
        TreeClassifier(),
        ForestClassifier(loss="entropy"),
        ForestClassifier(loss="gce"),
    ]


def warm_up_default_fit(stop_flag: NDArray[np.uint8] | None = None) -> None:
    """Compile what the first of the usual fits needs.

    Raises FitStopped when `stop_flag` (1,), which is read between kernels, is set.
    """
    warm_up_fit(usual_fits()[0], stop_flag=stop_flag)


def warm_up_shared_kernels(are_programs_wanted: Callable[[], bool]) -> None:
    """Compile what many jobs need beside the growth of trees with their own loss.

    That is what the automatic model needs beside the default fit, which another process compiles at the same time, what
    all fits to categories need, and linear programs, which come before the ranking of categories if they are wanted.
    """
    warm_up_pruning()
    warm_up_kernel_ridge()
    warm_up_fit(usual_fits()[1], _FEW_CATEGORIES)
    parts = (warm_up_linear_programs, warm_up_category_ranking)
    for part in parts if are_programs_wanted() else reversed(parts):
        part()


def warm_up_later_fits() -> None:
    """Compile the rest of the usual fits."""
    for fit in usual_fits()[2:]:
        warm_up_fit(fit)


def warm_up_demo() -> None:
    """Compile the growth of trees with entropy, one of the three losses of the demo.

    The worker begins with another one, and compiles what the automatic model needs when it starts.
    """
    warm_up_fit(ForestClassifier(loss="entropy"))
