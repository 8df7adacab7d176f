"""A fitted estimator taken apart into JSON facts and trees, and put together again with every fact checked."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.artifact.rules import CLASSES_OF_RULES, boosted_facts, restore_boosted
from core.artifact.trees import Pieces, check_nodes
from core.boosting.boosted_classifier import BoostedClassifier
from core.exceptions import ArtifactError, CoreError
from core.forests.grown_classifier import GrownClassifier
from core.growth.tree_structure import Trees
from core.losses.parsing import parse_loss
from core.noise.correction import checked_labels, parse_correction
from core.parameters import Parameter
from core.registry import ESTIMATORS, AnyClassifier, estimator_kind, estimator_parameters
from core.validation.training_data import MOST_CLASSES

#: Parameters that do not change the result and therefore not the file either.
_NOT_KEPT = frozenset({"n_jobs"})
#: Parameters that the first files of format 2 lack; those were fitted with the defaults.
_LATER = frozenset({"correction"})
#: "<U" is text of any length, "|O" labels of mixed types.
_CLASS_DTYPES = frozenset(
    {"<U", "|O", "|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"}
)
_MOST_FEATURES = 2**24


class State(NamedTuple):
    """What makes an estimator."""

    facts: dict[str, Any]  # JSON values
    trees: Trees
    outputs: Pieces  # what the nodes of each tree of a booster say, (node,); empty for others


def state_of(estimator: AnyClassifier, schema: Mapping[str, Any] | None) -> State:
    """Take a fitted estimator apart."""
    kind = estimator_kind(estimator)
    facts = {
        "kind": kind,
        "params": {
            p.name: _param_json(getattr(estimator, p.name))
            for p in estimator_parameters(kind)
            if p.name not in _NOT_KEPT
        },
        "loss": estimator.loss_.to_json(),
        "classes": _classes_json(estimator.classes_),
        "n_features": estimator.n_features_in_,
        "feature_names": _names(estimator),
        "lambda": getattr(estimator, "lambda_", None),
        "tuning_scores": [list(pair) for pair in getattr(estimator, "tuning_scores_", {}).items()],
        "oob_score": _finite_or_none(getattr(estimator, "oob_score_", None)),
        "correction": _correction_json(estimator),
        "schema": dict(schema) if schema is not None else getattr(estimator, "schema_", None),
    }
    if isinstance(estimator, BoostedClassifier):
        facts["boosted"] = boosted_facts(estimator)
        return State(facts, estimator.trees_, [rule.outputs for rule in estimator.rules_])
    return State(facts, estimator.trees_, [])


def _names(estimator: AnyClassifier) -> list[str] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _correction_json(estimator: AnyClassifier) -> dict[str, Any] | None:
    corrected = getattr(estimator, "correction_", None)
    return None if corrected is None else {"kind": corrected.kind, "labels": corrected.labels.tolist()}


def _param_json(value: Any) -> Any:
    """A parameter as JSON; a mapping becomes pairs, since its keys may be numbers; a live generator cannot be kept."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {"pairs": [[_param_json(key), _param_json(item)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return [_param_json(item) for item in value]
    return value if isinstance(value, str | bool | int | float | None) else None


def _param_value(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"pairs"}:
        return {key: _param_value(item) for key, item in value["pairs"]}
    return value


def _classes_json(classes: NDArray[Any]) -> dict[str, Any]:
    labels = classes.tolist()
    if not all(isinstance(label, str | bool | int | float) for label in labels):
        raise ArtifactError(
            "only labels that are text, numbers or booleans can be saved; change the others before the fit."
        )
    return {"dtype": "<U" if classes.dtype.kind == "U" else classes.dtype.str, "labels": labels}


def rebuilt(state: State) -> AnyClassifier:
    """Put an estimator together. Raises ArtifactError for anything that `state_of` would not have written."""
    try:
        return _rebuilt(state)
    except ArtifactError:
        raise
    except (CoreError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ArtifactError(f"the header does not describe a fitted estimator ({type(error).__name__}).") from None


def _rebuilt(state: State) -> AnyClassifier:
    facts = state.facts
    estimator = ESTIMATORS[facts["kind"]](**_checked_params(facts["kind"], facts["params"]))
    estimator.loss_ = parse_loss(facts["loss"])
    estimator.classes_ = _classes(facts["classes"])
    estimator.n_features_in_ = _count(facts["n_features"])
    n_classes = CLASSES_OF_RULES if isinstance(estimator, BoostedClassifier) else len(estimator.classes_)
    for nodes in state.trees:
        check_nodes(nodes, estimator.n_features_in_, n_classes)
    if isinstance(estimator, BoostedClassifier):
        restore_boosted(estimator, facts["boosted"], state.trees, state.outputs)
    elif state.outputs:
        raise ArtifactError("only boosters have rules.")
    else:
        estimator.trees_ = state.trees
    estimator.schema_ = _mapping_or_none(facts["schema"])
    if facts["feature_names"] is not None:
        estimator.feature_names_in_ = _feature_names(facts["feature_names"], estimator.n_features_in_)
    if facts["lambda"] is not None and isinstance(estimator, GrownClassifier):
        estimator.lambda_ = _finite(facts["lambda"])
        estimator.tuning_scores_ = {_finite(key): _finite(score) for key, score in facts["tuning_scores"]}
    if facts.get("correction") is not None and isinstance(estimator, GrownClassifier):
        corrected = facts["correction"]
        estimator.correction_ = checked_labels(corrected["kind"], corrected["labels"], n_classes)
    if facts["oob_score"] is not None and isinstance(estimator, GrownClassifier):
        estimator.oob_score_ = _finite(facts["oob_score"])
    return estimator


def _checked_params(kind: str, params: dict[str, Any]) -> dict[str, Any]:
    known: dict[str, Parameter] = {p.name: p for p in estimator_parameters(kind)}
    values = {name: known[name].default for name in _LATER & set(known)}
    values |= {name: _param_value(value) for name, value in params.items()}
    if set(values) != set(known) - _NOT_KEPT:
        raise ArtifactError(f"the parameters are not those of {kind!r}.")
    for name, value in values.items():
        known[name].check(value, kind)
    parse_correction(values.get("correction"), parse_loss(values["loss"]))
    return values


def _classes(facts: dict[str, Any]) -> NDArray[Any]:
    """Distinct labels. The dtype is one of text, number, boolean or mixed; nothing else is asked of numpy."""
    labels, dtype = facts["labels"], facts["dtype"]
    if not (isinstance(labels, list) and labels and all(isinstance(k, str | bool | int | float) for k in labels)):
        raise ArtifactError("the classes are not a list of labels.")
    if len(labels) > MOST_CLASSES:
        raise ArtifactError(f"the header lists {len(labels)} classes; at most {MOST_CLASSES} are possible.")
    if dtype not in _CLASS_DTYPES or len(set(labels)) != len(labels):
        raise ArtifactError("the classes have a type that is not known, or repeat.")
    classes = np.empty(len(labels), dtype=f"<U{max(map(len, labels))}" if dtype == "<U" else dtype)
    classes[:] = labels
    if classes.tolist() != labels:
        raise ArtifactError("the classes do not fit their type.")
    return classes


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST_FEATURES:
        raise ArtifactError("the number of features is not a possible one.")
    return value


def _finite(value: Any) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ArtifactError("a number is not finite.")
    return float(value)


def _finite_or_none(value: float | None) -> float | None:
    """JSON has no NaN; an unknown score is not kept."""
    return value if value is not None and math.isfinite(value) else None


def _mapping_or_none(value: Any) -> dict[str, Any] | None:
    if value is not None and not isinstance(value, dict):
        raise ArtifactError("the schema is not a mapping.")
    return value


def _feature_names(names: Any, n_features: int) -> NDArray[Any]:
    if not isinstance(names, list) or len(names) != n_features or not all(isinstance(name, str) for name in names):
        raise ArtifactError("the feature names do not match the number of features.")
    return np.array(names, dtype=object)
