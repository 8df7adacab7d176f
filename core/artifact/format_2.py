"""Reader of artifacts in format 2, which `save` wrote before trees could split sets of categories."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from core.artifact.category_sets import CATEGORY_ARRAYS, without_categories
from core.artifact.trees import TREE_OFFSETS
from core.exceptions import ArtifactError


def arrays_of_format_2(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file as those of the current form, which the caller still has to check.

    Raises ArtifactError for a file that has arrays of a later format.
    """
    if CATEGORY_ARRAYS & set(arrays):
        raise ArtifactError("a file of format 2 cannot have splits of categories.")
    n_trees = len(arrays[TREE_OFFSETS]) - 1 if TREE_OFFSETS in arrays else 0
    return {**arrays, **without_categories(max(n_trees, 0))}
