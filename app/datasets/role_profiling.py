"""Checks of the columns of weights and groups, batch by batch."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.datasets.errors import InvalidWeight
from app.datasets.text_limits import longest_bytes, text_too_long
from app.datasets.upload_warnings import MAX_ROWS, Place, UploadWarning
from core.service_api import MAX_TOTAL_WEIGHT, MIN_TOTAL_WEIGHT


class WeightProfiler:
    """Checks sample weights: numbers that are not negative, and not all 0."""

    def __init__(self, name: str, place: Place) -> None:
        self._name, self._place = name, place
        self._n_rows = 0
        #: Largest weight, and its row.
        self._largest, self._row = 0.0, 0

    def add(self, values: pa.Array, first_row: int) -> None:
        """Add a batch. values: from `Column.convert`. Raises InvalidWeight."""
        weights = values.cast(pa.float64(), safe=False)
        valid = pc.and_(pc.is_finite(weights), pc.greater_equal(weights, 0.0))
        invalid = pc.index(pc.fill_null(valid, False), False).as_py()
        if invalid >= 0:
            weight = weights[invalid].as_py()
            finding = "no weight" if weight is None else f"the weight {weight!r}"
            detail = (
                f"{self._place(first_row + invalid)} has {finding} in {self._name!r}; weights must be finite numbers "
                "of at least 0. Correct it, or give the row the weight 0 to leave it out"
            )
            raise InvalidWeight.at("/weight", detail)
        self._n_rows += len(weights)
        largest = pc.max(weights).as_py()
        if largest is not None and largest > self._largest:
            self._largest, self._row = largest, first_row + pc.index(weights, largest).as_py()

    def finish(self) -> None:
        """Raise InvalidWeight if all weights are 0, or the largest is beyond what models can add up."""
        if self._largest == 0.0:
            detail = f"all weights in {self._name!r} are 0; give at least some rows a weight above 0, or omit `weight`"
            raise InvalidWeight.at("/weight", detail)
        if not MIN_TOTAL_WEIGHT <= self._largest * self._n_rows <= MAX_TOTAL_WEIGHT:
            detail = (
                f"{self._place(self._row)} has the weight {self._largest!r} in {self._name!r}; multiplied by the "
                f"number of rows, the largest one must be between {MIN_TOTAL_WEIGHT:.0e} and {MAX_TOTAL_WEIGHT:.0e}. "
                "Correct it, or scale all weights by the same factor"
            )
            raise InvalidWeight.at("/weight", detail)


class GroupProfiler:
    """Counts rows without a group, and notes whether there are two groups at least."""

    def __init__(self, name: str, max_text_bytes: int) -> None:
        self._name, self._max_text_bytes = name, max_text_bytes
        self._n_missing = 0
        self._missing: list[int] = []
        self._first: str | None = None
        self._several = False

    def add(self, values: pa.Array, first_row: int) -> None:
        """Add a batch. values: from `Column.convert`. Raises TextTooLong."""
        if pa.types.is_string(values.type) and longest_bytes(values) > self._max_text_bytes:
            finding = f"column {self._name!r:.100} has a group"
            way_out = "shorten it, or name another column as `group`, or none"
            raise text_too_long("/group", finding, self._max_text_bytes, way_out)
        self._n_missing += values.null_count
        if values.null_count and len(self._missing) < MAX_ROWS:
            rows = np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False)) + first_row
            self._missing += rows[: MAX_ROWS - len(self._missing)].tolist()
        if not self._several:
            distinct = pc.unique(values.drop_null().cast(pa.string()))[:2].to_pylist()
            self._first = self._first if self._first is not None else next(iter(distinct), None)
            self._several = any(text != self._first for text in distinct)

    def warnings(self) -> Iterator[UploadWarning]:
        """Yield what the user should check about the groups."""
        if self._n_missing:
            rows = "1 row has" if self._n_missing == 1 else f"{self._n_missing:,} rows have"
            detail = (
                f"{rows} no group in {self._name!r}; each counts as a group of its own. Fill in groups that are known"
            )
            yield UploadWarning(self._name, "missing_group", detail, self._missing)
        elif not self._several:
            detail = (
                f"all rows have the same group in {self._name!r}, so that none can be held out for a test; choose "
                "another column, or omit `group`"
            )
            yield UploadWarning(self._name, "single_group", detail)
