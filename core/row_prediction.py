"""Predictions of single rows by a loaded estimator, without the checks of `predict_proba`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.columns.encoded_table import EncodedTable
from core.registry import AnyClassifier
from core.validation.categories import values_are_codes

#: Function from rows (row, feature) to class probabilities (row, class).
RowPredictor = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def row_predictor(estimator: AnyClassifier) -> RowPredictor:
    """Return a function with the results of `predict_proba` for rows that are known to be valid.

    They are float64 in C order and writeable, finite or NaN, with the codes of categories. The checks of
    `predict_proba` take several times as long as its kernel takes for one row.
    """
    if values_are_codes(estimator):
        return estimator.probabilities_of_checked
    columns: Any = estimator.columns_
    return estimator.predict_proba if columns is None else lambda X: estimator.predict_proba(EncodedTable(X, columns))
