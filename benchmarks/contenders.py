"""Our estimators and scikit-learn's, made from the same parameters."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import core
from benchmarks.data import Table
from benchmarks.settings import Absent, Settings

Make = Callable[[], Any]

WARM_UP_ROWS = 300


class Pair(NamedTuple):
    """Two ways to make an unfitted estimator."""

    ours: Make
    theirs: Make


def _our_class(name: str) -> Any:
    try:
        return getattr(core, name)
    except AttributeError:
        raise Absent(f"core has no {name}") from None


def _ensemble(ours: Any, theirs: Any, settings: Settings, criterion: str) -> Pair:
    shared = {
        "n_estimators": settings.trees,
        "max_features": "sqrt",
        "n_jobs": settings.jobs,
        "random_state": 0,
    }
    return Pair(lambda: ours(loss=criterion, **shared), lambda: theirs(criterion=criterion, **shared))


def forests(settings: Settings, criterion: str = "gini") -> Pair:
    """Random forests."""
    return _ensemble(_our_class("ForestClassifier"), RandomForestClassifier, settings, criterion)


def extra_trees(settings: Settings, criterion: str = "gini") -> Pair:
    """Extremely randomised trees. Raises Absent."""
    return _ensemble(_our_class("ExtraTreesClassifier"), ExtraTreesClassifier, settings, criterion)


def minimax_boosters(settings: Settings, criterion: str = "gini") -> Pair:
    """RMBoost for all its rounds, and AdaBoost on trees of as many leaves."""
    rounds, leaves = settings.trees, 10
    ours = partial(core.RMBoostClassifier, n_rounds=rounds, max_leaf_nodes=leaves, tolerance=0.0, n_jobs=settings.jobs)
    return Pair(
        lambda: ours(loss=criterion, random_state=0),
        lambda: AdaBoostClassifier(DecisionTreeClassifier(max_leaf_nodes=leaves), n_estimators=rounds, random_state=0),
    )


def trees(settings: Settings, criterion: str = "gini") -> Pair:
    """Single trees that search all features; scikit-learn's has no threads."""
    return Pair(
        lambda: core.TreeClassifier(loss=criterion, n_jobs=settings.jobs, random_state=0),
        lambda: DecisionTreeClassifier(criterion=criterion, random_state=0),
    )


def forest_of_loss(settings: Settings, kind: str) -> Make:
    """Our forest with a loss of default parameters. Raises Absent."""
    try:
        core.parse_loss({"kind": kind})
    except core.InvalidLoss:
        raise Absent(f"core has no loss {kind}") from None
    return lambda: core.ForestClassifier(
        n_estimators=settings.trees, loss={"kind": kind}, n_jobs=settings.jobs, random_state=0
    )


def warm(make: Make, table: Table) -> None:
    """Fit and ask a small copy, so that no compilation, import or thread pool start is timed."""
    estimator = clone(make())
    for trees in {"n_estimators", "n_rounds"} & estimator.get_params().keys():
        estimator.set_params(**{trees: 2})
    estimator.fit(table.X[:WARM_UP_ROWS], table.y[:WARM_UP_ROWS])
    if hasattr(estimator, "predict_proba"):
        estimator.predict_proba(table.X_test[:10])


def nodes_per_tree(estimator: Any) -> float:
    """Mean number of nodes, of a tree or an ensemble."""
    members = getattr(estimator, "estimators_", [estimator])
    return sum(member.tree_.node_count for member in members) / len(members)
