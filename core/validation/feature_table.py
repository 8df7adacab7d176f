"""Checks and conversion of X to float arrays, between fit and prediction.

Messages follow scikit-learn's wording, which its estimator checks look for.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.columns.column import Column, ColumnKind
from core.columns.encoded_table import EncodedTable
from core.columns.frames import encode_frame, holds_only_numbers, is_frame
from core.exceptions import InvalidInput
from core.validation.categories import categorical_columns, categorical_mask
from core.validation.feature_names import check_names, column_names
from core.validation.misplaced_arguments import check_is_table


def training_rows(estimator: Any, X: Any) -> NDArray[Any]:
    """Return X (row, feature) as float32 or float64, where NaN means missing.

    Sets `n_features_in_`, `columns_` (None for an array), and `feature_names_in_` if X has names.

    Raises InvalidInput for infinities, wrong shapes and text in arrays, TypeError for sparse matrices and values that
    are not numbers.
    """
    check_is_table(X)
    names = column_names(X)
    if is_frame(X) and not holds_only_numbers(X):
        X = encode_frame(X)
        _check_text_is_selected(estimator, X, names)
    rows = _float_rows(estimator, X)
    estimator.columns_ = X.columns if isinstance(X, EncodedTable) else numeric_columns(names)
    estimator.left_out_ = X.left_out if isinstance(X, EncodedTable) else ()
    if names is not None:
        estimator.feature_names_in_ = names
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    estimator.n_features_in_ = rows.shape[1]
    return rows


def numeric_columns(names: NDArray[Any] | None) -> tuple[Column, ...] | None:
    """Return the columns of a data frame of numbers with these names (feature,), None without names."""
    return None if names is None else tuple(Column(name, ColumnKind.NUMERIC) for name in names)


def _check_text_is_selected(estimator: Any, table: EncodedTable, names: NDArray[Any] | None) -> None:
    """Raise InvalidInput for a column of text that `categorical_features` leaves out; booleans then are 0 and 1."""
    by_type = categorical_columns(table.columns)
    selected = categorical_mask(estimator.categorical_features, names, by_type, len(table.columns))
    for column, is_selected in zip(table.columns, selected, strict=True):
        if column.kind is ColumnKind.CATEGORICAL and not (is_selected or column.is_boolean):
            raise InvalidInput(
                f"column {column.name!r:.100} has categories, which categorical_features leaves out, and could not "
                'convert string to float; set categorical_features="from_dtype", list the column there, or leave it '
                "out of X."
            )


def rows_like_training(estimator: Any, X: Any) -> NDArray[Any]:
    """Return X as `training_rows` does. Raises InvalidInput unless it has the features of the fit."""
    check_is_table(X)
    names = _without(estimator.left_out_, column_names(X))
    check_names(estimator, names)
    rows = _float_rows(estimator, _as_fitted(estimator.columns_, X, names))
    expected = estimator.n_features_in_
    if rows.shape[1] != expected:
        raise InvalidInput(
            f"X has {rows.shape[1]} features, but {type(estimator).__name__} is expecting {expected} features as "
            "input; pass the features that it was fitted on."
        )
    return rows


def _without(left_out: tuple[str, ...], names: NDArray[Any] | None) -> NDArray[Any] | None:
    return names if names is None or not left_out else names[~np.isin(names, np.array(left_out, dtype=object))]


def _as_fitted(columns: tuple[Column, ...] | None, X: Any, names: NDArray[Any] | None) -> Any:
    """Return a data frame as a table with the columns of the fit, and anything else as it is. Raises InvalidInput.

    `names` (feature,) are those of X that are not left out.
    """
    if isinstance(X, EncodedTable):
        _check_same_columns(columns, X)
        return X
    if columns is None or not is_frame(X):
        return X
    has_all_names = names is None or len(names) == X.shape[1]
    are_as_they_are = all(column.kind is ColumnKind.NUMERIC and not column.reading.null_numbers for column in columns)
    return X if has_all_names and are_as_they_are and holds_only_numbers(X) else encode_frame(X, columns)


def _check_same_columns(columns: tuple[Column, ...] | None, table: EncodedTable) -> None:
    if columns is None or columns is table.columns:
        return
    for fitted, column in zip(columns, table.columns, strict=False):
        if (fitted.kind, fitted.categories) != (column.kind, column.categories):
            raise InvalidInput(
                f"column {column.name!r:.100} has other categories or another kind than in fit; encode the rows with "
                "encode_frame(frame, estimator.columns_)."
            )


def _float_rows(estimator: Any, X: Any) -> NDArray[Any]:
    rows = float_array(X)
    name = type(estimator).__name__
    if rows.ndim != 2:
        raise InvalidInput(
            f"Expected 2D array, got {rows.ndim}D array instead. Reshape your data either using array.reshape(-1, 1) "
            "if it has a single feature or array.reshape(1, -1) if it contains a single sample."
        )
    for size, noun in zip(rows.shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise InvalidInput(f"Found array with 0 {noun} (shape={rows.shape}) while a minimum of 1 is required.")
    # fmax and fmin ignore NaN and need no temporary array
    if np.isinf(np.fmax.reduce(rows, axis=None)) or np.isinf(np.fmin.reduce(rows, axis=None)):
        raise InvalidInput(
            f"Input X of {name} contains infinity or a value too large for {rows.dtype}; only NaN means missing."
        )
    return rows


def float_array(X: Any) -> NDArray[Any]:
    """Return an encoded table, a frame of numbers or an array as float32 or float64. Raises InvalidInput."""
    if isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "biuf":
        X = np.where(np.ma.getmaskarray(X), np.nan, X.data)
    rows = np.asarray(X.X if isinstance(X, EncodedTable) else X)
    if rows.dtype.kind == "c":
        raise InvalidInput("Complex data not supported; pass real and imaginary parts as two features.")
    if rows.dtype in (np.float32, np.float64):
        return rows
    if rows.dtype.kind in "mM":
        raise InvalidInput(
            f"X has the type {rows.dtype}, whose numbers depend on its unit; pass a data frame, whose dates are "
            "seconds, or numbers."
        )
    if rows.dtype == object and hasattr(X, "columns") and hasattr(X, "iloc"):  # pandas' own missing values
        return np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))
    try:
        with np.errstate(over="ignore"):
            return rows.astype(np.float64)
    except ValueError:
        raise InvalidInput(_text_in_array(rows)) from None


def _text_in_array(rows: NDArray[Any]) -> str:
    """Return the message for an array that contains text."""
    cells = ((index, cell) for index, cell in np.ndenumerate(rows) if isinstance(cell, str) and not _is_number(cell))
    index, cell = next(cells, (None, None))
    if index is None:
        return "X contains values that are not numbers; an array must contain numbers only."
    place = f"row {index[0]}, column {index[1]}" if len(index) == 2 else f"position {index[0] if index else 0}"
    return (
        f"X has {str(cell)!r:.100} in {place}; could not convert string to float. Pass a data frame of pandas, polars "
        "or pyarrow: its columns of text are categories, which the trees split natively."
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
