"""Compile the kernels of the tests before the first test runs, each kernel in one process only.

Parallel test processes would otherwise compile mostly the same kernels at the same time.
"""

import subprocess
import sys
from collections.abc import Sequence

import core
from core.registry import AnyClassifier
from core.warmup import warm_up_fit

_BACKWARD = {"kind": "backward", "transition": [[0.9, 0.1], [0.2, 0.8]]}

#: Estimators whose kernels two processes compile: equal amounts of work with little overlap.
GROUPS: tuple[Sequence[AnyClassifier], ...] = (
    [
        core.RMBoostClassifier(),
        core.TreeClassifier(max_leaf_nodes=4, loss="entropy"),
        core.TreeClassifier(max_leaf_nodes=4, correction=_BACKWARD),
        core.TreeClassifier(loss="gce"),
        core.TreeClassifier(loss="credal"),
        core.TreeClassifier(loss="twoing"),
        core.ExtraTreesClassifier(),
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


def compile_group(number: int) -> None:
    """Compile the kernels of one group of estimators, and the splits of categories by a part of the losses."""
    for estimator in GROUPS[number]:
        warm_up_fit(estimator)
    for loss in list(core.LOSSES)[number :: len(GROUPS)]:
        warm_up_fit(core.TreeClassifier(loss=loss), n_categories=2)


def compile_all() -> int:
    """Compile all groups in parallel; return 0, or the exit code of a failed process."""
    command = [sys.executable, "-m", "tests.compile_kernels"]
    processes = [subprocess.Popen([*command, str(number)]) for number in range(len(GROUPS))]
    return max([process.wait() for process in processes], key=abs)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        compile_group(int(sys.argv[1]))
    else:
        sys.exit(compile_all())
