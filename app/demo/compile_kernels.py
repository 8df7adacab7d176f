"""Compilation of kernels that the demo's jobs need, in a process of its own beside the starting service.

The API compiles what predictions need, and the worker compiles the default criterion when it starts and the negative
exponential one for its first models. This process compiles the rest at the same time: the entropy criterion and
out-of-bag votes, which the audit needs.
"""

import logging

import numpy as np

from core import ForestClassifier

_N_ROWS = 600


def main() -> None:
    """Fit a small forest of whole numbers, as those of the digits are."""
    logging.getLogger("core.compilation").setLevel(logging.ERROR)  # the demo says what it waits for
    rows = np.arange(_N_ROWS)
    X = np.column_stack([rows % 17, rows % 5]).astype(np.float64)
    ForestClassifier(n_estimators=20, loss="entropy", oob_score=True, random_state=0).fit(X, rows % 3)


if __name__ == "__main__":
    main()
