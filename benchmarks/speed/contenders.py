"""Pairs of our estimators and scikit-learn's with the same parameters."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import core
from benchmarks.data import Table
from benchmarks.settings import Settings, Unsupported

EstimatorFactory = Callable[[], Any]

WARM_UP_ROWS = 300


class Pair(NamedTuple):
    """Factories of our unfitted estimator and of scikit-learn's."""

    ours: EstimatorFactory
    theirs: EstimatorFactory


def _our_class(name: str) -> Any:
    try:
        return getattr(core, name)
    except AttributeError:
        raise Unsupported(f"core does not have {name}") from None


def _ensemble(ours: Any, theirs: Any, settings: Settings, criterion: str) -> Pair:
    common = {
        "n_estimators": settings.trees,
        "max_features": "sqrt",
        "n_jobs": settings.jobs,
        "random_state": 0,
    }
    return Pair(lambda: ours(loss=criterion, **common), lambda: theirs(criterion=criterion, **common))


def forests(settings: Settings, criterion: str = "gini") -> Pair:
    """Return random forests."""
    return _ensemble(_our_class("ForestClassifier"), RandomForestClassifier, settings, criterion)


def extra_trees(settings: Settings, criterion: str = "gini") -> Pair:
    """Return extremely randomized trees. Raises Unsupported."""
    return _ensemble(_our_class("ExtraTreesClassifier"), ExtraTreesClassifier, settings, criterion)


def minimax_boosters(settings: Settings, criterion: str = "gini") -> Pair:
    """Return RMBoost without early stopping, and AdaBoost on trees with the same number of leaves."""
    rounds, leaves = settings.trees, 10
    ours = partial(core.RMBoostClassifier, n_rounds=rounds, max_leaf_nodes=leaves, tolerance=0.0, n_jobs=settings.jobs)
    return Pair(
        lambda: ours(loss=criterion, random_state=0),
        lambda: AdaBoostClassifier(DecisionTreeClassifier(max_leaf_nodes=leaves), n_estimators=rounds, random_state=0),
    )


def trees(settings: Settings, criterion: str = "gini") -> Pair:
    """Return single trees that search all features; scikit-learn's uses one thread."""
    return Pair(
        lambda: core.TreeClassifier(loss=criterion, n_jobs=settings.jobs, random_state=0),
        lambda: DecisionTreeClassifier(criterion=criterion, random_state=0),
    )


def forest_with_loss(settings: Settings, kind: str) -> EstimatorFactory:
    """Return a factory of our forest with a loss of default parameters. Raises Unsupported."""
    try:
        core.parse_loss({"kind": kind})
    except core.InvalidLoss:
        raise Unsupported(f"core does not have loss {kind}") from None
    return lambda: core.ForestClassifier(
        n_estimators=settings.trees, loss={"kind": kind}, n_jobs=settings.jobs, random_state=0
    )


def warm_up(make: EstimatorFactory, table: Table) -> None:
    """Fit and call a small copy, so that compilation, imports and the start of thread pools are not timed."""
    estimator = clone(make())
    for trees in {"n_estimators", "n_rounds"} & estimator.get_params().keys():
        estimator.set_params(**{trees: 2})
    estimator.fit(table.X[:WARM_UP_ROWS], table.y[:WARM_UP_ROWS])
    if hasattr(estimator, "predict_proba"):
        estimator.predict_proba(table.X_test[:10])


def nodes_per_tree(estimator: Any) -> float:
    """Return the mean number of nodes per tree of a tree or an ensemble."""
    members = getattr(estimator, "estimators_", [estimator])
    return sum(member.tree_.node_count for member in members) / len(members)
