"""Boosters of Mazuelas and Álvarez 2025, and variants that may explain a cell outside of the band."""

from collections.abc import Callable
from typing import Any, NamedTuple

import core
from benchmarks.papers.xgboost_objectives import PotentialXGBoost, focal_potential, quadratic_potential

N_ROUNDS = 200


class Method(NamedTuple):
    """Booster with its published name: a kind of `core.ESTIMATORS`, or a potential of XGBoost."""

    published: str
    kind: str | None
    parameters: dict[str, Any]


#: Methods of the published tables.
TABLE_METHODS = {
    "rmboost": Method("RMBoost", "rmboost", {}),
    "rmboost sign": Method("RMBoost", "rmboost", {"rule_output": "sign"}),
    "adaboost": Method("AdaBoost", "adaboost", {}),
    "logitboost": Method("LogitBoost", "logitboost", {}),
    "gentleboost": Method("GentleBoost", "gentleboost", {}),
    "lpboost": Method("LPBoost", "lpboost", {}),
    "brownboost": Method("BrownBoost", "brownboost", {}),
    "robustboost": Method("RobustBoost", "robustboost", {}),
    "xgboost quadratic": Method("XGB-Quad", None, {"potential": quadratic_potential}),
    "xgboost focal": Method("Robust-GBDT", None, {"potential": focal_potential}),
}
_RMBOOST_VARIANTS: dict[str, dict[str, Any]] = {
    "sign vertex": {"rule_output": "sign", "dual_solution": "vertex"},
    "sign 1,000 rounds": {"rule_output": "sign", "n_rounds": 1000, "tolerance": 0.0},
    "sign 3 leaves": {"rule_output": "sign", "max_leaf_nodes": 3},
    "sign 30 leaves": {"rule_output": "sign", "max_leaf_nodes": 30},
    "vertex": {"dual_solution": "vertex"},
    "20 rounds": {"n_rounds": 20},
    "1,000 rounds": {"n_rounds": 1000, "tolerance": 0.0},
    "3 leaves": {"max_leaf_nodes": 3},
    "30 leaves": {"max_leaf_nodes": 30},
    "resampled": {"resample": True},
}
_LPBOOST_VARIANTS: dict[str, dict[str, Any]] = {
    "hard margin": {"outlier_share": None},
    "nu 0.02": {"outlier_share": 0.02},
    "nu 0.3": {"outlier_share": 0.3},
    "20 rounds": {"n_rounds": 20},
    "100 rounds": {"n_rounds": 100},
    "3 leaves": {"max_leaf_nodes": 3},
    "30 leaves": {"max_leaf_nodes": 30},
}
#: RMBoost with the values of lambda of figure 6; the default is 1 / sqrt(training rows), about 0.04.
LAMBDAS = {
    f"rmboost lambda {value:g}": Method("RMBoost", "rmboost", {"regularization": value})
    for value in (1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
}
METHODS = (
    TABLE_METHODS
    | {f"rmboost {name}": Method("RMBoost", "rmboost", changes) for name, changes in _RMBOOST_VARIANTS.items()}
    | {f"lpboost {name}": Method("LPBoost", "lpboost", changes) for name, changes in _LPBOOST_VARIANTS.items()}
    | LAMBDAS
)
PUBLISHED_NAMES = {name: method.published for name, method in METHODS.items()}


def make(name: str) -> Any:
    """Return an unfitted booster."""
    method = METHODS[name]
    if method.kind is None:
        return PotentialXGBoost(**method.parameters)
    estimator: Callable[..., Any] = core.ESTIMATORS[method.kind]
    return estimator(**{"random_state": 0, "n_rounds": N_ROUNDS, "n_jobs": 1, **method.parameters})
