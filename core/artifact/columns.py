"""Columns of a fitted estimator as JSON."""

from typing import Any

from numpy.typing import NDArray

from core.columns.column import Column
from core.exceptions import ArtifactError
from core.registry import AnyClassifier
from core.validation.feature_table import numeric_columns


def columns_to_json(estimator: AnyClassifier) -> list[dict[str, Any]] | None:
    """Return the columns of a fit, None for an array and for a data frame of numbers, whose names say everything."""
    names = getattr(estimator, "feature_names_in_", None)
    if estimator.columns_ is None or estimator.columns_ == numeric_columns(names):
        return None
    return [column.to_json() for column in estimator.columns_]


def columns_from_json(value: Any, n_features: int, names: NDArray[Any] | None) -> tuple[Column, ...] | None:
    """Return the columns that `columns_to_json` was called with. Raises ArtifactError, KeyError, TypeError, ValueError.

    Files of format 1 and of the first versions of format 2 have no columns.
    """
    if value is None:
        return numeric_columns(names)
    if not isinstance(value, list) or len(value) != n_features:
        raise ArtifactError("the columns do not match the number of features.")
    columns = tuple(Column.from_json(column) for column in value)
    if names is not None and [column.name for column in columns] != names.tolist():
        raise ArtifactError("the names of the columns are not the feature names.")
    return columns


def left_out_from_json(value: Any) -> tuple[str, ...]:
    """Return the names of columns that are no features. Raises ArtifactError."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ArtifactError("the names of the columns that were left out must be a list of texts.")
    return tuple(value)
