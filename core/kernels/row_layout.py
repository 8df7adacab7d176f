"""Memory layout of rows that kernels read."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_kernel_rows(X: NDArray[Any]) -> NDArray[Any]:
    """Return X in C order and writeable, copied if needed: numba would compile a kernel anew for other arrays."""
    return X if X.flags.carray else np.array(X, order="C")
