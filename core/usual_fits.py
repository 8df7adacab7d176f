"""Fits that people usually ask for first, whose kernels are compiled before anybody waits for them."""

from typing import NamedTuple

from core.boosting.rmboost import RMBoostClassifier
from core.forests.forest import ExtraTreesClassifier, ForestClassifier
from core.forests.tree import TreeClassifier
from core.registry import AnyClassifier
from core.warmup import warm_up_fit, warm_up_linear_programs

#: Categories of the feature that has most of them, in data with categories; up to 255 need the same kernels.
_FEW_CATEGORIES = 2


class UsualFit(NamedTuple):
    """Arguments of `warm_up_fit`."""

    estimator: AnyClassifier
    n_categories: int = 0


def usual_fits() -> list[UsualFit]:
    """Return the fits in the order of their compilation.

    A request that names no model needs the first two, which two processes compile at the same time, and the next two if
    the data have categories.
    """
    return [
        UsualFit(ForestClassifier()),
        UsualFit(ExtraTreesClassifier()),
        UsualFit(ExtraTreesClassifier(), _FEW_CATEGORIES),
        UsualFit(ForestClassifier(), _FEW_CATEGORIES),
        UsualFit(ForestClassifier(loss="adaptive_ne")),
        UsualFit(RMBoostClassifier()),
        UsualFit(ForestClassifier(loss="adaptive_ne"), _FEW_CATEGORIES),
        UsualFit(TreeClassifier()),
        UsualFit(ForestClassifier(loss="entropy")),
        UsualFit(ForestClassifier(loss="gce")),
        UsualFit(RMBoostClassifier(), _FEW_CATEGORIES),
    ]


def warm_up_default_fit() -> None:
    """Compile what the first of the usual fits needs."""
    warm_up_fit(*usual_fits()[0])


def warm_up_later_fits() -> None:
    """Compile what the usual fits need beside the first one, which another process compiles at the same time.

    Linear programs come early: the growth of trees for minimax boosting takes long enough by itself.
    """
    _, extra_trees, with_categories, *others = usual_fits()
    warm_up_fit(*extra_trees)
    warm_up_fit(*with_categories)
    warm_up_linear_programs()
    for fit in others:
        warm_up_fit(*fit)


def warm_up_demo() -> None:
    """Compile the growth of trees with one of the two losses of the demo; the worker begins with the other one."""
    warm_up_fit(ForestClassifier(loss="entropy"))
