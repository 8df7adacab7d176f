"""Compile kernels, or load them from the disk cache, before somebody waits for them.

A kernel compiles when it first meets the types of its arguments, once per machine: some seconds for predictions, about
ten for each loss, as the search is compiled into each anew. So nobody compiles all of them: a process that predicts
needs no losses, and a fit needs one.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.boosting.rmboost import RMBoostClassifier
from core.evaluation import evaluate
from core.forests.forest import ForestClassifier
from core.forests.tree import TreeClassifier
from core.kernels.growth.tree_nodes import NO_FEATURE, TreeNodes
from core.losses.catalogue import LOSSES
from core.losses.parsing import parse_loss
from core.noise.correction import asks_for_estimate, of_two_classes
from core.registry import AnyClassifier

#: More distinct values than the most bins, so that bins which lose something are chosen too.
_ROWS = 600


def warm_up() -> None:
    """Everything that a tree or forest with any loss or correction needs, grown depth first on codes of one byte, and
    what boosters with the default loss need.
    """
    warm_up_predictions()
    for kind in LOSSES:
        warm_up_fit(TreeClassifier(loss=kind))
    warm_up_fit(TreeClassifier(correction=of_two_classes({"kind": "backward"})))
    warm_up_fit(ForestClassifier())
    warm_up_fit(RMBoostClassifier())


def warm_up_predictions() -> None:
    """What a loaded estimator needs, for rows of both float widths."""
    tree = _stump()
    for X in (_rows(), _rows().astype(np.float32)):  # a tenth is no float32: rows of both widths are walked
        tree.predict_proba(X)
        tree.tree_.apply(X)


def warm_up_fit(estimator: AnyClassifier) -> None:
    """What a fit of an estimator with these parameters, and its evaluation, need; the estimator stays as it is.

    Codes of two bytes for a feature of 256 values and missing ones, and of four bytes for exact bins of more than
    65,536 values, are rare and compile when a fit meets them.
    """
    changed: dict[str, Any] = {
        "max_depth": 2,
        "class_weight": None,
        "random_state": 0,
        "n_estimators": 2,
        "n_rounds": 2,
        "regularization": None,
        "oob_score": False,
    }
    parameters = estimator.get_params(deep=False)
    correction = parameters.get("correction")
    if asks_for_estimate(correction):
        warm_up_fit(ForestClassifier())  # like the one whose votes are estimated from
    changed["correction"] = of_two_classes(correction)
    small = type(estimator)(**{**parameters, **{name: changed[name] for name in changed.keys() & parameters.keys()}})
    X, y = _rows(), np.arange(_ROWS) % 2
    evaluate(small.fit(X, y), X, y)


def _rows() -> NDArray[np.float64]:
    """A feature of many values with a missing one, and a feature of few."""
    many = np.arange(_ROWS) + 0.1
    many[0] = np.nan
    return np.column_stack([many, np.arange(_ROWS) % 4])


def _stump() -> TreeClassifier:
    """A fitted tree of one split that no kernel has grown."""
    stump: Any = TreeClassifier()
    nodes = TreeNodes(
        feature=np.array([0, NO_FEATURE, NO_FEATURE], dtype=np.int32),
        link=np.array([2, 0, 2], dtype=np.int32),
        threshold=np.array([0.5, 0.0, 0.0]),
        missing_go_to_left=np.zeros(3, dtype=np.uint8),
        impurity=np.zeros(3),
        n_node_samples=np.array([5, 1, 4], dtype=np.int32),
        weighted_n_node_samples=np.array([5.0, 1.0, 4.0]),
        mixed=np.array([[0.25, 0.75]]),
    )
    stump.trees_ = (nodes,)
    stump.classes_, stump.loss_, stump.n_features_in_ = np.arange(2), parse_loss("gini"), 2
    fitted: TreeClassifier = stump
    return fitted
