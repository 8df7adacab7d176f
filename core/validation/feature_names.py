"""Checks of feature names between fit and prediction, as scikit-learn does them.

Messages follow scikit-learn's wording, which its estimator checks look for.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.call_site import stack_level_of_user
from core.columns.encoded_table import EncodedTable
from core.exceptions import InvalidInput

_MAX_NAMES_SHOWN = 5


def column_names(X: Any) -> NDArray[Any] | None:
    """Return the column names of a data frame if all are text, None without names. Raises TypeError for a mixture."""
    if not (hasattr(X, "columns") and hasattr(X, "shape") and len(X.shape) == 2):
        return None
    names = _names(X)
    are_text = [isinstance(name, str) for name in names]
    if any(are_text) and not all(are_text):
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has other "
            "names too; use text for all column names, or for none."
        )
    return np.array(names, dtype=object) if names and all(are_text) else None


def _names(X: Any) -> list[Any]:
    if isinstance(X, EncodedTable):
        return [column.name for column in X.columns]
    return list(getattr(X, "column_names", X.columns))  # the columns of an Arrow table are its arrays


def check_names(estimator: Any, names: NDArray[Any] | None) -> None:
    """Warn if only one of fit and prediction had names. Raises InvalidInput if the names differ."""
    fitted = getattr(estimator, "feature_names_in_", None)
    kind = type(estimator).__name__
    if fitted is None and names is not None:
        warnings.warn(
            f"X has feature names, but {kind} was fitted without feature names",
            UserWarning,
            stacklevel=stack_level_of_user(),
        )
    elif fitted is not None and names is None:
        warnings.warn(
            f"X does not have valid feature names, but {kind} was fitted with feature names",
            UserWarning,
            stacklevel=stack_level_of_user(),
        )
    elif fitted is not None and names is not None and list(names) != list(fitted):
        raise InvalidInput(_difference(list(names), list(fitted)))


def _difference(names: list[str], fitted: list[str]) -> str:
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    if unseen:
        message += "Feature names unseen at fit time:\n" + _listed(unseen)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + _listed(missing)
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
        message += "Select the columns by `feature_names_in_` to restore it.\n"
    return message


def _listed(names: list[str]) -> str:
    shown = [f"- {name}\n" for name in names[:_MAX_NAMES_SHOWN]]
    return "".join(shown) + ("- ...\n" if len(names) > _MAX_NAMES_SHOWN else "")
