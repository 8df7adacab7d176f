"""State of a fitted estimator as JSON metadata and trees, and its checked way back to an estimator."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.artifact.category_sets import check_category_sets
from core.artifact.choice import choice_metadata, restore_choice
from core.artifact.columns import columns_from_json, columns_to_json, left_out_from_json
from core.artifact.numbers import finite, share
from core.artifact.pieces import Pieces
from core.artifact.ridge import restore_ridge, ridge_arrays
from core.artifact.rules import N_RULE_CLASSES, booster_metadata, restore_booster
from core.artifact.trees import check_nodes
from core.automatic.auto_classifier import AutoClassifier
from core.boosting.boosted_classifier import BoostedClassifier
from core.exceptions import ArtifactError, CoreError
from core.forests.grown_classifier import GrownClassifier
from core.growth.tree_structure import Trees
from core.losses.parsing import parse_loss
from core.noise.correction import parse_corrected_labels, parse_correction
from core.parameters import Parameter
from core.registry import ESTIMATORS, AnyClassifier, estimator_kind, estimator_parameters
from core.validation.categories import categories_to_json, restore_categories
from core.validation.training_data import MAX_CLASSES

#: Parameters that do not change the result; they are not stored, so that equal models have equal files.
_NOT_STORED = frozenset({"n_jobs"})
#: Parameters that the first files of format 2 lack; those models were fitted with the defaults.
_LATER_PARAMETERS = frozenset({"correction", "categorical_features"})
#: "<U" stands for text of any length, "|O" for labels of mixed types.
_CLASS_DTYPES = frozenset(
    {"<U", "|O", "|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"}
)
_MOST_FEATURES = 2**24
#: Each character of an array of text takes four bytes.
_MOST_CLASS_CHARACTERS = 2**28


class EstimatorState(NamedTuple):
    """Everything that defines a fitted estimator."""

    metadata: dict[str, Any]  # JSON values
    trees: Trees
    outputs: Pieces  # output of each node, (node,), one array per tree of a booster; empty for other estimators
    ridge: Mapping[str, NDArray[Any]] = MappingProxyType({})  # arrays of a kernel ridge regression by their names


def estimator_state(estimator: AnyClassifier, schema: Mapping[str, Any] | None) -> EstimatorState:
    """Return the state of a fitted estimator. Raises ArtifactError if it is not fitted."""
    kind = estimator_kind(estimator)
    if not hasattr(estimator, "classes_"):
        raise ArtifactError(f"this {type(estimator).__name__} is not fitted; call fit before it is saved.")
    metadata = {"kind": kind, "params": _params_json(estimator, kind)} | _fitted_json(estimator, schema)
    if isinstance(estimator, BoostedClassifier):
        metadata["boosted"] = booster_metadata(estimator)
        return EstimatorState(metadata, estimator.trees_, [rule.outputs for rule in estimator.rules_])
    if isinstance(estimator, AutoClassifier):
        metadata["choice"] = choice_metadata(estimator)
        ridge = estimator.kernel_ridge_
        metadata["ridge_width"] = None if ridge is None else ridge.width
        return EstimatorState(metadata, estimator.trees_, [], ridge_arrays(ridge))
    return EstimatorState(metadata, estimator.trees_, [])


def _params_json(estimator: AnyClassifier, kind: str) -> dict[str, Any]:
    stored = [p.name for p in estimator_parameters(kind) if p.name not in _NOT_STORED]
    return {name: _param_json(getattr(estimator, name)) for name in stored}


def _fitted_json(estimator: AnyClassifier, schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what all kinds of estimators have learned beside their trees."""
    return {
        "loss": estimator.loss_.to_json(),
        "classes": _classes_json(estimator.classes_),
        "n_features": estimator.n_features_in_,
        "feature_names": _names(estimator),
        "lambda": getattr(estimator, "lambda_", None),
        "tuning_scores": [list(pair) for pair in getattr(estimator, "tuning_scores_", {}).items()],
        "oob_score": _finite_or_none(getattr(estimator, "oob_score_", None)),
        "correction": _correction_json(estimator),
        "categories": categories_to_json(estimator),
        "columns": columns_to_json(estimator),
        "left_out": list(estimator.left_out_),
        "schema": dict(schema) if schema is not None else getattr(estimator, "schema_", None),
    }


def _names(estimator: AnyClassifier) -> list[str] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _correction_json(estimator: AnyClassifier) -> dict[str, Any] | None:
    corrected = getattr(estimator, "correction_", None)
    return None if corrected is None else {"kind": corrected.kind, "labels": corrected.labels.tolist()}


def _param_json(value: Any) -> Any:
    """Return a parameter as JSON: a mapping becomes pairs because its keys may be numbers, a random generator null."""
    if isinstance(value, np.floating):  # also long doubles, which no type of Python holds
        return float(value)
    for conversion in ("to_pylist", "to_list", "tolist"):  # of Arrow, of polars and pandas, and of NumPy
        if hasattr(value, conversion):
            return _param_json(getattr(value, conversion)())
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, Mapping):
        return {"pairs": [[_param_json(key), _param_json(item)] for key, item in value.items()]}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_param_json(item) for item in value]
    return value if isinstance(value, str | bool | int | float | None) else None


def _param_value(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"pairs"}:
        return {key: _param_value(item) for key, item in value["pairs"]}
    return value


def _classes_json(classes: NDArray[Any]) -> dict[str, Any]:
    labels = [label.item() if isinstance(label, np.generic) else label for label in classes.tolist()]
    if not all(isinstance(label, str | bool | int | float) for label in labels):
        raise ArtifactError(
            "only labels that are text, numbers or booleans can be saved; convert other labels before fitting."
        )
    return {"dtype": "<U" if classes.dtype.kind == "U" else classes.dtype.str, "labels": labels}


def rebuild(state: EstimatorState) -> AnyClassifier:
    """Return the estimator of a state. Raises ArtifactError for a state that `estimator_state` would not return."""
    try:
        return _rebuild(state)
    except ArtifactError:
        raise
    except (CoreError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ArtifactError(f"the header does not describe a fitted estimator ({type(error).__name__}).") from None


def _rebuild(state: EstimatorState) -> AnyClassifier:
    metadata = state.metadata
    estimator = ESTIMATORS[metadata["kind"]](**_checked_params(metadata["kind"], metadata["params"]))
    estimator.loss_ = parse_loss(metadata["loss"])
    estimator.classes_ = _classes(metadata["classes"])
    estimator.n_features_in_ = _count(metadata["n_features"])
    n_classes = N_RULE_CLASSES if isinstance(estimator, BoostedClassifier) else len(estimator.classes_)
    restore_categories(estimator, metadata.get("categories"), estimator.n_features_in_)
    for nodes in state.trees:
        check_nodes(nodes, estimator.n_features_in_, n_classes)
        check_category_sets(nodes, estimator.is_categorical_, estimator.n_categories_)
    _restore_trees(estimator, state)
    estimator.schema_ = _mapping_or_none(metadata["schema"])
    if metadata["feature_names"] is not None:
        estimator.feature_names_in_ = _feature_names(metadata["feature_names"], estimator.n_features_in_)
    names = getattr(estimator, "feature_names_in_", None)
    estimator.columns_ = columns_from_json(metadata.get("columns"), estimator.n_features_in_, names)
    estimator.left_out_ = left_out_from_json(metadata.get("left_out", []))
    if metadata["lambda"] is not None and isinstance(estimator, GrownClassifier):
        estimator.lambda_ = finite(metadata["lambda"])
        estimator.tuning_scores_ = {finite(key): share(score) for key, score in metadata["tuning_scores"]}
    if metadata.get("correction") is not None and isinstance(estimator, GrownClassifier):
        corrected = metadata["correction"]
        estimator.correction_ = parse_corrected_labels(corrected["kind"], corrected["labels"], n_classes)
    if metadata["oob_score"] is not None and isinstance(estimator, GrownClassifier):
        estimator.oob_score_ = share(metadata["oob_score"])
    return estimator


def _restore_trees(estimator: AnyClassifier, state: EstimatorState) -> None:
    """Give an estimator its checked trees, and what a fit has found beside them."""
    if isinstance(estimator, BoostedClassifier):
        restore_booster(estimator, state.metadata["boosted"], state.trees, state.outputs)
        return
    if state.outputs:
        raise ArtifactError("only boosters have rule outputs.")
    estimator.trees_ = state.trees
    if isinstance(estimator, AutoClassifier):
        restore_choice(estimator, state.metadata["choice"])
        restore_ridge(estimator, state.metadata.get("ridge_width"), state.ridge)
    elif state.ridge:
        raise ArtifactError("only an automatic classifier has a kernel ridge regression.")


def _checked_params(kind: str, params: dict[str, Any]) -> dict[str, Any]:
    known: dict[str, Parameter] = {p.name: p for p in estimator_parameters(kind)}
    values = {name: known[name].default for name in _LATER_PARAMETERS & set(known)}
    values |= {name: _param_value(value) for name, value in params.items()}
    if set(values) != set(known) - _NOT_STORED:
        raise ArtifactError(f"the parameters do not match those of {kind!r}.")
    for name, value in values.items():
        known[name].check(value, kind)
    parse_correction(values.get("correction"), parse_loss(values.get("loss", "gini")))
    return values


def _classes(metadata: dict[str, Any]) -> NDArray[Any]:
    """Return the distinct labels (class,); only dtypes of text, numbers, booleans and mixed labels are accepted."""
    labels, dtype = metadata["labels"], metadata["dtype"]
    if not (isinstance(labels, list) and labels and all(isinstance(k, str | bool | int | float) for k in labels)):
        raise ArtifactError("the classes must be a list of labels that are text, numbers or booleans.")
    if len(labels) > MAX_CLASSES:
        raise ArtifactError(f"the header lists {len(labels)} classes; at most {MAX_CLASSES} are possible.")
    if dtype not in _CLASS_DTYPES or len(set(labels)) != len(labels):
        raise ArtifactError("the classes have an unknown type, or are not distinct.")
    if not all(isinstance(label, str) or math.isfinite(label) for label in labels):
        raise ArtifactError("a class is not a finite number.")
    if dtype == "<U" and len(labels) * max(map(len, labels)) > _MOST_CLASS_CHARACTERS:
        raise ArtifactError(
            f"the array of the {len(labels)} classes has the width of the longest, {max(map(len, labels))} characters; "
            "that is too much memory. Shorten the labels, or fit on labels of type object."
        )
    classes = np.empty(len(labels), dtype=f"<U{max(map(len, labels))}" if dtype == "<U" else dtype)
    classes[:] = labels
    if classes.tolist() != labels:
        raise ArtifactError("the classes do not match their type.")
    return classes


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST_FEATURES:
        raise ArtifactError("the number of features is invalid.")
    return value


def _finite_or_none(value: float | None) -> float | None:
    """Return None for NaN, which JSON cannot represent."""
    return value if value is not None and math.isfinite(value) else None


def _mapping_or_none(value: Any) -> dict[str, Any] | None:
    if value is not None and not isinstance(value, dict):
        raise ArtifactError("the schema must be a mapping.")
    return value


def _feature_names(names: Any, n_features: int) -> NDArray[Any]:
    if not isinstance(names, list) or len(names) != n_features or not all(isinstance(name, str) for name in names):
        raise ArtifactError("the feature names do not match the number of features.")
    return np.array(names, dtype=object)
