"""Adversarial label noise in the rows with the largest margin (Mazuelas and Alvarez 2025, appendix H)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.boosting.additive import LogitBoostClassifier
from core.class_votes import winning_classes
from core.monitoring import FitMonitor

#: Rounds of the LogitBoost model; the paper does not state them.
N_ROUNDS = 100


def flip_largest_margins(
    X: Any, codes: NDArray[np.int64], rate: float, monitor: FitMonitor | None = None
) -> NDArray[np.int64]:
    """Return class numbers (row,) in which round(rate n) rows are changed: those with the largest margin of a
    LogitBoost model that is fitted on the clean labels. Ties go to the first rows. The result is deterministic.

    The margin is the score of the row's class minus the largest score of the other classes. With more than two classes
    the scores are those of one-vs-rest models. A changed row gets the class with the second highest score.
    `monitor` watches the fit.

    Raises InvalidInput, and FitStopped when `monitor` asks for it.
    """
    scores = _class_scores(X, codes, monitor)
    rows = np.arange(len(codes))
    own = scores[rows, codes].copy()
    scores[rows, codes] = -np.inf
    runner_up = winning_classes(scores)
    margins = own - scores[rows, runner_up]
    flipped = np.argsort(-margins, kind="stable")[: round(rate * len(codes))]
    noisy = codes.copy()
    noisy[flipped] = runner_up[flipped]
    return noisy


def _class_scores(X: Any, codes: NDArray[np.int64], monitor: FitMonitor | None) -> NDArray[np.float64]:
    """Return the score of each class, (row, class), -inf for a class without rows."""
    present = np.unique(codes)
    scores = np.full((len(codes), int(codes.max()) + 1), -np.inf)
    model = LogitBoostClassifier(n_rounds=N_ROUNDS, random_state=0).fit(X, codes, monitor=monitor)
    values = model.decision_function(X)
    scores[:, present] = np.column_stack([-values, values]) if values.ndim == 1 else values
    return scores
