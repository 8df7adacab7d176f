"""Compile the kernels of the tests before the first test runs, each kernel in one process only.

Parallel test processes would otherwise compile mostly the same kernels at the same time. A process that has compiled
one kernel also compiles similar ones in half the time.
"""

import gc
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import core
from core.warmup.kernels import warm_up_category_ranking, warm_up_fit, warm_up_predictions
from tests.core.kernels.criteria_by_hand import ONE_OF_EACH, node_impurity

#: Losses that tests combine with random cuts, of which growth is compiled for each. The search for random cuts does not
#: depend on the formula of a loss: these have packed counts, a weighted mean of impurities, a gain of two children, and
#: probabilities that are optimized. Tests of saved models and of tabled powers add `adaptive_ne` and `gce`.
RANDOM_CUT_LOSSES = ("gini", "entropy", "twoing", "credal")
_BACKWARD = {"kind": "backward", "transition": [[0.9, 0.1], [0.2, 0.8]]}


def compile_best_cuts() -> None:
    """Compile depth-first growth with best cuts, predictions, texts of trees, and criteria that tests call directly."""
    warm_up_predictions()
    warm_up_fit(core.ForestClassifier(oob_score=True))
    for loss in core.LOSSES:
        warm_up_fit(core.TreeClassifier(loss=loss))
    for q in (0.004, 0.999):
        warm_up_fit(core.TreeClassifier(loss={"kind": "gce", "q": q}))
    warm_up_fit(core.TreeClassifier(correction=_BACKWARD))
    core.export_text(core.TreeClassifier().fit([[0.0], [1.0]], [0, 1]))
    for criterion in ONE_OF_EACH:
        node_impurity(criterion, np.ones(2))


def compile_random_cuts() -> None:
    """Compile depth-first growth with random cuts, for the losses that tests combine with them."""
    for loss in RANDOM_CUT_LOSSES:
        warm_up_fit(core.ExtraTreesClassifier(loss=loss))
    warm_up_fit(core.ExtraTreesClassifier(correction=_BACKWARD))


def compile_categories() -> None:
    """Compile what categorical features need beside the growth of trees, and growth on bin codes of two bytes."""
    warm_up_category_ranking()
    for n_categories in (2, 300):
        warm_up_fit(core.TreeClassifier(), n_categories)
    warm_up_fit(core.ExtraTreesClassifier(max_leaf_nodes=4), n_categories=2)


def compile_minimax_boosting() -> None:
    """Compile linear programs, and the best-first growth of the trees between them."""
    warm_up_fit(core.RMBoostClassifier())


def compile_best_first_growth() -> None:
    """Compile best-first growth of other trees."""
    warm_up_fit(core.TreeClassifier(max_leaf_nodes=4, loss="entropy"))
    warm_up_fit(core.TreeClassifier(max_leaf_nodes=4, correction=_BACKWARD))
    warm_up_fit(core.ExtraTreesClassifier(max_leaf_nodes=4))


def compile_codes_of_two_bytes() -> None:
    """Compile growth on codes of two bytes."""
    warm_up_fit(core.ExtraTreesClassifier(max_leaf_nodes=4, max_bins=None))
    for estimator in (core.TreeClassifier, core.ExtraTreesClassifier):
        warm_up_fit(estimator(max_bins=None))


def compile_codes_of_four_bytes() -> None:
    """Compile growth on codes of four bytes."""
    values = np.arange(2.0**16 + 1)[:, np.newaxis]
    for estimator in (core.TreeClassifier, core.ExtraTreesClassifier):
        estimator(max_bins=None, max_depth=1).fit(values, values[:, 0] > 9)


#: What one process compiles at a time; the parts that take longest come first.
PARTS: tuple[Callable[[], None], ...] = (
    compile_best_cuts,
    compile_categories,
    compile_random_cuts,
    compile_codes_of_two_bytes,
    compile_codes_of_four_bytes,
    compile_minimax_boosting,
    compile_best_first_growth,
)


def compile_all() -> None:
    """Compile all parts, with one process per processor."""
    n_processes, spawn = min(os.cpu_count() or 1, len(PARTS)), multiprocessing.get_context("spawn")
    # Collecting garbage takes a seventh of the time of compilation. Without it, a process grows beyond 1 GB.
    with ProcessPoolExecutor(n_processes, mp_context=spawn, initializer=gc.disable) as processes:
        for compiling in [processes.submit(part) for part in PARTS]:
            compiling.result()


if __name__ == "__main__":
    compile_all()
