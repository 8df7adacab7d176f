"""Numbers in the header of an artifact, checked."""

import math
from typing import Any

from core.exceptions import ArtifactError


def finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ArtifactError("a number is not finite.")
    return float(value)


def share(value: Any) -> float:
    """Return a share, such as an accuracy."""
    if not 0 <= finite(value) <= 1:
        raise ArtifactError("a share, such as an accuracy, is not in [0, 1].")
    return float(value)
