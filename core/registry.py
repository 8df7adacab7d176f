"""Registry of estimators by name, shared by the service, artifacts and tests."""

from core.automatic.auto_classifier import AutoClassifier
from core.boosting.additive import AdaBoostClassifier, GentleBoostClassifier, LogitBoostClassifier
from core.boosting.boosted_classifier import BoostedClassifier
from core.boosting.brownboost import BrownBoostClassifier
from core.boosting.lpboost import LPBoostClassifier
from core.boosting.rmboost import RMBoostClassifier
from core.boosting.robustboost import RobustBoostClassifier
from core.exceptions import InvalidParameter
from core.forests.forest import ExtraTreesClassifier, ForestClassifier
from core.forests.grown_classifier import GrownClassifier
from core.forests.tree import TreeClassifier
from core.parameters import Parameter, parameters_of

AnyClassifier = GrownClassifier | BoostedClassifier | AutoClassifier

#: All kinds of estimators, in the order in which they are listed.
ESTIMATORS: dict[str, type[AnyClassifier]] = {
    "tree": TreeClassifier,
    "forest": ForestClassifier,
    "extra_trees": ExtraTreesClassifier,
    "rmboost": RMBoostClassifier,
    "adaboost": AdaBoostClassifier,
    "logitboost": LogitBoostClassifier,
    "gentleboost": GentleBoostClassifier,
    "lpboost": LPBoostClassifier,
    "brownboost": BrownBoostClassifier,
    "robustboost": RobustBoostClassifier,
    "auto": AutoClassifier,
}


def estimator_parameters(kind: str) -> tuple[Parameter, ...]:
    """Return the constructor parameters of a kind of estimator, in order. Raises InvalidParameter."""
    if kind not in ESTIMATORS:
        raise InvalidParameter(f"kind is {kind!r}; it must be one of {', '.join(ESTIMATORS)}.")
    return parameters_of(ESTIMATORS[kind])


def estimator_kind(estimator: object) -> str:
    """Return the kind of an estimator. Raises InvalidParameter."""
    for kind, estimator_class in ESTIMATORS.items():
        if type(estimator) is estimator_class:
            return kind
    raise InvalidParameter(
        f"{type(estimator).__name__} is not an estimator of this library; use one of {', '.join(ESTIMATORS)}."
    )
