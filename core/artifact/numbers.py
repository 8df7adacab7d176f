"""Numbers in the header of an artifact, checked."""

import math
from typing import Any

from core.exceptions import ArtifactError


def finite(value: Any) -> float:
    """Return a finite number as a float. Raises ArtifactError for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ArtifactError("a number is not finite.")
    return float(value)


def share(value: Any) -> float:
    """Return a share, such as an accuracy. Raises ArtifactError unless it is a number in [0, 1]."""
    if not 0 <= finite(value) <= 1:
        raise ArtifactError("a share, such as an accuracy, is not in [0, 1].")
    return float(value)
