"""Rows that repeat an earlier row with its label, which may be copies.

Copies confirm each other's labels, so that audits and the automatic model take wrong ones for right.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from app.datasets.upload_warnings import MAX_ROWS, UploadWarning

#: Labeled rows that are compared: their digests fit in memory.
_MAX_COMPARED = 2_000_000
#: Smallest number and share of repeated rows that cause a warning.
_MIN_REPEATED, _MIN_SHARE = 10, 0.01
#: In tables with a higher share, rows are combinations of few values, which repeat by themselves.
_MAX_SHARE = 0.9
#: Most rows with equal features and another label for each repeated row. Copies have the same label; rows that are
#: equal by chance often have another one.
_MAX_CONFLICTS = 0.1
_WAY_OUT = (
    "If they are copies of one observation, they confirm each other's labels, also wrong ones: remove them, or upload "
    "the table with a column whose value copies share, and name it in `group`"
)
#: An odd number with bits at random, 2**64 divided by the golden ratio.
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_MISSING = np.uint64(2**62 + 1)


class RepeatedRows:
    """Finds rows with equal features and equal labels among the stored rows of a table."""

    def __init__(self, columns: Sequence[str], target: str) -> None:
        """columns: those whose values are compared."""
        self._columns, self._target = columns, target
        self._features: list[NDArray[np.uint64]] = []  # digests of features, (labeled row,) of each batch
        self._digests: list[NDArray[np.uint64]] = []  # the same of features and label
        self._numbers: list[NDArray[np.int64]] = []
        self._n_rows = self._n_compared = 0

    def watch(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches as they are, and remember digests of their rows."""
        for batch in batches:
            if not self._is_full:
                self._add(batch)
            self._n_rows += batch.num_rows
            yield batch

    @property
    def _is_full(self) -> bool:
        return self._n_compared >= _MAX_COMPARED

    def _add(self, batch: pa.RecordBatch) -> None:
        labeled = np.flatnonzero(batch.column(self._target).is_valid().to_numpy(zero_copy_only=False))
        features = np.zeros(batch.num_rows, dtype=np.uint64)
        for name in self._columns:
            features = _mixed(features, batch.column(name))
        self._features.append(features[labeled])
        self._digests.append(_mixed(features, batch.column(self._target))[labeled])
        self._numbers.append(self._n_rows + labeled)
        self._n_compared += len(labeled)

    def warnings(self) -> Iterator[UploadWarning]:
        """Yield a warning if enough rows of the batches repeat earlier ones."""
        digests = np.concatenate([*self._digests, np.empty(0, np.uint64)])
        is_repeated = np.ones(len(digests), dtype=bool)
        is_repeated[np.unique(digests, return_index=True)[1]] = False
        if self._seem_copied(int(is_repeated.sum()), len(digests)):
            rows = np.concatenate(self._numbers)[is_repeated][:MAX_ROWS].tolist()
            compared = f"{'the first ' if self._is_full else ''}{len(digests):,} labeled rows"
            finding = f"{is_repeated.sum():,} of {compared} repeat an earlier row with its label"
            yield UploadWarning(None, "repeated_rows", f"{finding}. {_WAY_OUT}", rows)

    def _seem_copied(self, n_repeated: int, n_rows: int) -> bool:
        if not max(_MIN_REPEATED, _MIN_SHARE * n_rows) <= n_repeated <= _MAX_SHARE * n_rows:
            return False
        n_conflicts = n_rows - n_repeated - len(np.unique(np.concatenate(self._features)))
        return n_conflicts <= _MAX_CONFLICTS * n_repeated


def _mixed(digests: NDArray[np.uint64], values: pa.Array) -> NDArray[np.uint64]:
    """Return digests (row,) with the values of a further column; different values make different digests."""
    mixed = (digests ^ _bits(values)) * _MULTIPLIER
    return np.asarray(mixed ^ (mixed >> _HALF))


def _bits(values: pa.Array) -> NDArray[np.uint64]:
    """Return numbers as 64 bits that are equal if and only if the numbers are."""
    numbers = pc.fill_null(values, False if pa.types.is_boolean(values.type) else 0).to_numpy(zero_copy_only=False)
    if numbers.dtype.kind == "f":
        bits = (numbers.astype(np.float64) + 0.0).view(np.uint64)  # a sum with 0 makes the zeros equal
    else:
        bits = numbers.astype(np.uint64)
    return np.asarray(np.where(values.is_null().to_numpy(zero_copy_only=False), _MISSING, bits))
