"""Compile the kernels that the tests meet before the first of them runs, each in one process only.

Tests that run side by side would each compile what they meet first, and mostly the same.
"""

import subprocess
import sys
from collections.abc import Sequence

import core
from core.registry import AnyClassifier
from core.warmup import warm_up_fit

_BACKWARD = {"kind": "backward", "transition": [[0.9, 0.1], [0.2, 0.8]]}

#: What two processes compile: about as much each, and as little as possible twice.
SHARES: tuple[Sequence[AnyClassifier], ...] = (
    [
        core.RMBoostClassifier(),
        core.TreeClassifier(max_leaf_nodes=4, loss="entropy"),
        core.TreeClassifier(max_leaf_nodes=4, correction=_BACKWARD),
        core.TreeClassifier(loss="gce"),
        core.TreeClassifier(loss="credal"),
        core.TreeClassifier(loss="twoing"),
        core.TreeClassifier(loss="sqrt_gini"),
    ],
    [
        core.ForestClassifier(oob_score=True),
        core.TreeClassifier(max_bins=None),
        core.TreeClassifier(correction=_BACKWARD),
        core.TreeClassifier(loss="entropy"),
        core.TreeClassifier(loss="ne"),
        core.TreeClassifier(loss="misclassification"),
        core.TreeClassifier(loss="mae"),
        core.TreeClassifier(loss="ranking"),
        core.TreeClassifier(loss="distribution"),
    ],
)


def compile_share(number: int) -> None:
    for estimator in SHARES[number]:
        warm_up_fit(estimator)


def compile_all() -> int:
    """Returns 0, or the first exit code that is not."""
    program = [sys.executable, "-m", "tests.compile_kernels"]
    running = [subprocess.Popen([*program, str(number)]) for number in range(len(SHARES))]
    return max([process.wait() for process in running], key=abs)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        compile_share(int(sys.argv[1]))
    else:
        sys.exit(compile_all())
