"""Names of estimators -> classes: one list for the API, the artefact and the tests."""

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

AnyClassifier = GrownClassifier | BoostedClassifier

#: Every kind of estimator, in the order in which they are shown.
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
}


def estimator_parameters(kind: str) -> tuple[Parameter, ...]:
    """The constructor parameters of an estimator, in the order of its signature. Raises InvalidParameter."""
    if kind not in ESTIMATORS:
        raise InvalidParameter(f"kind is {kind!r}; it must be one of {', '.join(ESTIMATORS)}.")
    return parameters_of(ESTIMATORS[kind])


def estimator_kind(estimator: object) -> str:
    """The name of an estimator's class. Raises InvalidParameter."""
    for kind, estimator_class in ESTIMATORS.items():
        if type(estimator) is estimator_class:
            return kind
    raise InvalidParameter(f"{type(estimator).__name__} is no estimator of this library.")
