"""Missing labels and groups: None, NaN, NaT and the missing value of pandas."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def missing_values(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values (row,) of any dtype are missing, boolean (row,)."""
    if values.dtype.kind in "fc":
        return np.asarray(np.isnan(values))
    if values.dtype.kind in "mM":
        return np.asarray(np.isnat(values))
    if values.dtype != object:
        return np.zeros(len(values), dtype=bool)
    listed = values.tolist()
    if not any(map(_is_missing, _distinct(listed))):
        return np.zeros(len(values), dtype=bool)
    return np.fromiter(map(_is_missing, listed), dtype=bool, count=len(values))


def _distinct(values: list[Any]) -> Iterable[Any]:
    """Return distinct values, which are few among labels, or all if some cannot be hashed."""
    try:
        return set(values)
    except TypeError:
        return values


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # the missing value of pandas has no truth value
        return True
    except ValueError:  # an array, which is refused elsewhere
        return False
