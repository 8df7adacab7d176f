"""Summary of a data set that the checks of a request read."""

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray


class DatasetSummary(Protocol):
    """Size, classes and features of a data set, which are known without reading its rows."""

    @property
    def n_rows(self) -> int:
        """Number of rows, with a label or without; all of them are loaded."""

    @property
    def n_labeled(self) -> int:
        """Number of rows with a label; models are trained and scored on these."""

    @property
    def classes(self) -> Sequence[Any]:
        """`{"label", "count"}` of each class, in class order."""

    @property
    def used_features(self) -> Sequence[Any]:
        """`{"name", "kind", …}` of each feature that models see, in column order."""

    @property
    def labels(self) -> NDArray[Any]:
        """Labels of the classes (class,)."""
