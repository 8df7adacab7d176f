"""Features that tell every label on their own, as those do that were made from the label (target leakage)."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from app.datasets.canonical import TARGET, feature_column
from app.datasets.column_types import ColumnKind
from app.datasets.profiling import FeatureProfile
from app.datasets.upload_warnings import UploadWarning
from app.errors import some_of

#: Largest probability that a column without any relation to the labels causes a warning, approximately: it is higher
#: where one category is large, all others are small, and a class is rare.
_MAX_CHANCE = 1e-6
_WAY_OUT = (
    "made from the label or known only after it, models that use it fail on new rows: leave it out with `exclude` or "
    "the type `ignored`"
)


class LeakageSearch:
    """Finds the features whose categories have one label each, or whose numbers are in one interval for each label.

    Missing values are like a category of their own.
    """

    def __init__(self, features: Sequence[FeatureProfile], n_classes: int) -> None:
        used = [(index, feature) for index, feature in enumerate(features) if feature.kind is not ColumnKind.IGNORED]
        self._names = {feature_column(index): feature.name for index, feature in used}
        self._suspects: dict[str, _Numbers | _Categories] = {
            feature_column(index): (
                _Numbers(n_classes) if feature.categories is None else _Categories(len(feature.categories))
            )
            for index, feature in used
        }
        self._counts = np.zeros(n_classes, dtype=np.int64)  # labeled rows, (class,)

    def watch(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the stored batches as they are, and compare their features with their labels."""
        for batch in batches:
            if self._suspects:
                self._compare(batch.select([*self._suspects, TARGET]))
            yield batch

    def _compare(self, batch: pa.RecordBatch) -> None:
        labeled = batch.filter(batch.column(TARGET).is_valid())
        labels = labeled.column(TARGET).to_numpy()
        self._counts += np.bincount(labels, minlength=len(self._counts))
        self._suspects = {
            name: suspect
            for name, suspect in self._suspects.items()
            if suspect.agrees_with(labeled.column(name), labels)
        }

    def warnings(self) -> Iterator[UploadWarning]:
        """Yield a warning that names the features found, if there are any."""
        found = [self._names[name] for name, suspect in self._suspects.items() if self._is_no_chance(suspect.n_pieces)]
        if not found:
            return
        one = len(found) == 1
        columns = f"column {found[0]!r} alone tells" if one else f"each of the columns {some_of(found)} alone tells"
        detail = f"{columns} all {self._counts.sum():,} labels. If {'it' if one else 'one of them'} was {_WAY_OUT}"
        yield UploadWarning(found[0] if one else None, "target_leakage", detail)

    def _is_no_chance(self, n_pieces: int) -> bool:
        """Whether labels that are drawn at random would hardly ever agree within `n_pieces` sets of rows."""
        n_rows = int(self._counts.sum())
        agreement = float(((self._counts / max(n_rows, 1)) ** 2).sum())
        return 0.0 < agreement < 1.0 and (n_rows - n_pieces) * math.log(agreement) < math.log(_MAX_CHANCE)


class _Categories:
    """Smallest and largest label of each category; the last one is for missing values."""

    def __init__(self, n_categories: int) -> None:
        self._smallest = np.full(n_categories + 1, np.iinfo(np.int32).max, dtype=np.int32)
        self._largest = np.full(n_categories + 1, -1, dtype=np.int32)

    def agrees_with(self, values: pa.Array, labels: NDArray[np.int32]) -> bool:
        """Add labeled rows. Return whether no category has two labels so far."""
        # The stored type may be too narrow for the number of the missing values.
        categories = pc.fill_null(values.cast(pa.int32()), len(self._largest) - 1).to_numpy()
        np.minimum.at(self._smallest, categories, labels)
        np.maximum.at(self._largest, categories, labels)
        return bool((self._smallest >= self._largest).all())

    @property
    def n_pieces(self) -> int:
        """Number of categories that occur."""
        return int((self._largest >= 0).sum())


class _Numbers:
    """Smallest and largest number of each class, and the labels of missing numbers."""

    def __init__(self, n_classes: int) -> None:
        self._smallest = np.full(n_classes, np.inf)
        self._largest = np.full(n_classes, -np.inf)
        self._missing = _Categories(0)

    def agrees_with(self, values: pa.Array, labels: NDArray[np.int32]) -> bool:
        """Add labeled rows. Return whether the intervals of no two classes overlap so far."""
        present = values.is_valid().to_numpy(zero_copy_only=False)
        numbers = values.drop_null().cast(pa.float64(), safe=False).to_numpy()
        np.minimum.at(self._smallest, labels[present], numbers)
        np.maximum.at(self._largest, labels[present], numbers)
        missing = labels[~present]
        return self._missing.agrees_with(pa.nulls(len(missing), pa.int32()), missing) and self._are_apart()

    def _are_apart(self) -> bool:
        occurring = np.flatnonzero(np.isfinite(self._smallest))
        ordered = occurring[np.argsort(self._smallest[occurring])]
        return bool((self._largest[ordered[:-1]] < self._smallest[ordered[1:]]).all())

    @property
    def n_pieces(self) -> int:
        """Number of intervals, and one for missing numbers if there are any."""
        return int(np.isfinite(self._smallest).sum()) + self._missing.n_pieces
