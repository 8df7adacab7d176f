"""Categorical features: which columns of X they are, and the codes of their values.

    value  10.0  NaN  7.0  10.0     of one column; the sorted distinct values of the fit are 7.0 and 10.0
    code      1  NaN    0     1

Trees split on codes. Most columns hold codes already, as those of data frames do: distinct numbers 0, 1, ... with few
gaps are their own codes, and such columns are not copied. A value that the fit has not seen has no code and is treated
as missing.
"""

from collections.abc import Sequence
from numbers import Integral
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from core.columns.column import Column, ColumnKind
from core.exceptions import InvalidParameter
from core.parameters import SELF_CHECKED, SERVER_SIDE, Help

#: Value of the parameter for the columns whose type says that they are categorical.
FROM_DTYPE = "from_dtype"
CategoricalFeatures = Annotated[
    Sequence[Any] | NDArray[Any] | str | None,
    SELF_CHECKED,
    SERVER_SIDE,
    Help(
        "Features whose values are categories without an order: a boolean mask, indices or names of columns, or "
        "`from_dtype` for the columns of a data frame whose type is text, categorical or boolean. If unset, no feature "
        "is."
    ),
]
#: Values of each feature in the order of their codes; None if the values are the codes, or if it is not categorical.
CategoryValues = tuple[NDArray[np.float64] | None, ...]

#: Numbers up to this one, or up to twice the number of distinct ones, are their own codes.
_ALWAYS_CODES = 255
#: Codes are stored in 32 bits, with room for that of missing values.
_MOST_CODES = 2**31 - 2


def categorical_mask(
    selected: Any, names: NDArray[Any] | None, by_type: NDArray[np.bool_] | None, n_features: int
) -> NDArray[np.bool_]:
    """Return which features are categorical, (feature,).

    `selected` is the parameter `categorical_features`, `names` are those of the columns of X, and `by_type` (feature,)
    states which columns have a categorical type; both are None for an array. Raises InvalidParameter.
    """
    mask = np.zeros(n_features, dtype=bool)
    if selected is None:
        return mask
    if isinstance(selected, str):
        if selected != FROM_DTYPE:
            raise _invalid(selected, f'the only text allowed is "{FROM_DTYPE}"; put names of columns into a list')
        return mask if by_type is None else by_type.copy()
    members = np.atleast_1d(np.asarray(selected, dtype=object)).tolist()
    if members and all(isinstance(member, bool | np.bool_) for member in members):
        if len(members) != n_features:
            raise _invalid(members, f"a boolean mask must have one entry per feature, and X has {n_features}")
        return np.array(members, dtype=bool)
    mask[[_position(member, names, n_features) for member in members]] = True
    return mask


def categorical_columns(columns: Sequence[Column]) -> NDArray[np.bool_]:
    """Return which columns are categorical by their type, (feature,)."""
    return np.array([column.kind is ColumnKind.CATEGORICAL for column in columns], dtype=bool)


def _position(member: Any, names: NDArray[Any] | None, n_features: int) -> int:
    """Return the index of the feature that `member` names. Raises InvalidParameter."""
    if isinstance(member, str):
        if names is None:
            raise _invalid(member, "X has no names of columns; list indices, or pass a data frame")
        if member not in names:
            raise _invalid(member, f"X has no column of that name; its columns are {', '.join(map(str, names))}")
        return int(np.flatnonzero(names == member)[0])
    if not isinstance(member, Integral) or isinstance(member, bool | np.bool_) or not 0 <= int(member) < n_features:
        raise _invalid(member, f"an index must be an integer from 0 to {n_features - 1}; do not mix it with booleans")
    return int(member)


def _invalid(value: Any, rule: str) -> InvalidParameter:
    return InvalidParameter(f"categorical_features is or contains {value!r}; {rule}.")


def fit_categories(estimator: Any, X: NDArray[Any], by_type: NDArray[np.bool_] | None = None) -> NDArray[Any]:
    """Return X (row, feature) with the codes of categorical features in place of their values.

    Sets `is_categorical_` (feature,), None without categorical features, `category_values_` (CategoryValues), and
    `n_categories_` (feature,), the number of codes, 0 for other features. Raises InvalidParameter if
    `categorical_features` does not fit to X.
    """
    names = getattr(estimator, "feature_names_in_", None)
    mask = categorical_mask(estimator.categorical_features, names, by_type, X.shape[1])
    estimator.is_categorical_ = mask if mask.any() else None
    estimator.category_values_ = tuple(
        _values_with_codes(X[:, f]) if is_categorical else None for f, is_categorical in enumerate(mask)
    )
    coded = encode_categories(estimator, X)
    estimator.n_categories_ = np.array(
        [_n_codes(coded[:, f]) if is_categorical else 0 for f, is_categorical in enumerate(mask)], dtype=np.int64
    )
    return coded


def encode_categories(estimator: Any, X: NDArray[Any]) -> NDArray[Any]:
    """Return X with the codes of categorical features, NaN for values that the fit has not seen.

    It is a copy if any value differs from its code.
    """
    coded = None
    for f, values in enumerate(estimator.category_values_):
        if values is not None:
            coded = X.copy(order="K") if coded is None else coded
            coded[:, f] = _codes(X[:, f], values)
    return X if coded is None else coded


def values_are_codes(estimator: Any) -> bool:
    """Return whether no feature of a fitted estimator needs `encode_categories`."""
    return all(values is None for values in getattr(estimator, "category_values_", ()))


def _values_with_codes(column: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return the distinct values of a categorical column in ascending order, or None if they are their own codes."""
    values = np.unique(column[~np.isnan(column)]).astype(np.float64)
    largest = values[-1] if len(values) else 0.0
    are_integers = bool((values == np.floor(values)).all() and (values >= 0).all())
    return None if are_integers and largest <= max(_ALWAYS_CODES, 2 * len(values)) else values


def _n_codes(column: NDArray[Any]) -> int:
    """Return the number of codes up to the highest."""
    highest = float(np.fmax.reduce(column))
    return 0 if np.isnan(highest) else int(highest) + 1


def _codes(column: NDArray[Any], values: NDArray[Any]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        singles = values.astype(np.float32)
    are_distinct = len(np.unique(singles)) == len(values)
    # 0.1 of float32 is another number than 0.1 of float64, but the same category.
    if column.dtype == np.float32 and are_distinct:
        return _positions(column, singles)
    codes = _positions(column, values)
    if are_distinct and np.array_equal(singles, values):
        decimals = singles.astype(str).astype(np.float64)
        codes = np.where(np.isnan(codes), _positions(column, decimals), codes)
    return codes


def _positions(column: NDArray[Any], values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the position of each number among ascending `values`, NaN if it is not one of them."""
    position = np.minimum(np.searchsorted(values, column), len(values) - 1)
    return np.where(values[position] == column, position, np.nan)


def categories_to_json(estimator: Any) -> list[list[Any]] | None:
    """Return each categorical feature of a fit: index, number of codes, and the values, or None if they are codes."""
    if estimator.is_categorical_ is None:
        return None
    features = np.flatnonzero(estimator.is_categorical_).tolist()
    values = [estimator.category_values_[f] for f in features]
    counts = estimator.n_categories_[features].tolist()
    return [[f, n, None if one is None else one.tolist()] for f, n, one in zip(features, counts, values, strict=True)]


def restore_categories(estimator: Any, features: Any, n_features: int) -> None:
    """Set the attributes of `fit_categories` from the result of `categories_to_json`.

    Raises TypeError and ValueError for any other value.
    """
    estimator.is_categorical_, estimator.category_values_ = None, (None,) * n_features
    estimator.n_categories_ = np.zeros(n_features, dtype=np.int64)
    if features is None:
        return
    values: list[NDArray[np.float64] | None] = [None] * n_features
    for f, n_codes, listed in features:
        if not (type(f) is int and 0 <= f < n_features and type(n_codes) is int and 0 <= n_codes <= _MOST_CODES):
            raise ValueError("the index or the number of categories of a feature is invalid")
        values[f], estimator.n_categories_[f] = _parse_values(listed, n_codes), n_codes
    mask = np.zeros(n_features, dtype=bool)
    mask[[f for f, _, _ in features]] = True
    estimator.is_categorical_, estimator.category_values_ = mask, tuple(values)


def _parse_values(values: Any, n_codes: int) -> NDArray[np.float64] | None:
    if values is None:
        return None
    if not (isinstance(values, list) and len(values) == n_codes and all(type(v) in (int, float) for v in values)):
        raise TypeError("the values of a categorical feature are not one number per code")
    parsed = np.array(values, dtype=np.float64)
    if not (len(parsed) and np.isfinite(parsed).all() and (np.diff(parsed) > 0).all()):
        raise ValueError("the values of a categorical feature are not ascending")
    return parsed
