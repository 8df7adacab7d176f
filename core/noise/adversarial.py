"""Noise where it hurts most: on the rows that a good rule is surest of (Mazuelas and Alvarez 2025, appendix H)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.boosting.additive import LogitBoostClassifier
from core.monitoring import FitMonitor

#: Rounds of the rule that is trusted; the paper does not state them.
N_ROUNDS = 100


def surest_flips(X: Any, codes: NDArray[np.int64], rate: float, monitor: FitMonitor | None = None) -> NDArray[np.int64]:
    """Class numbers (row,) with the round(rate n) labels changed that LogitBoost, fitted on the clean ones, gets right
    with the largest margin; ties go to the first rows. The same rows give the same flips: nothing is drawn.

    Margin: score of the row's class minus the largest of the others. With more than two classes the scores are those of
    one rule a class against the rest, and a flipped row gets the runner-up. `monitor` watches the fit.

    Raises InvalidInput, and FitStopped when `monitor` asks for it.
    """
    scores = _scores(X, codes, monitor)
    rows = np.arange(len(codes))
    own = scores[rows, codes].copy()
    scores[rows, codes] = -np.inf
    runner_up = scores.argmax(axis=1)
    margins = own - scores[rows, runner_up]
    flipped = np.argsort(-margins, kind="stable")[: round(rate * len(codes))]
    noisy = codes.copy()
    noisy[flipped] = runner_up[flipped]
    return noisy


def _scores(X: Any, codes: NDArray[np.int64], monitor: FitMonitor | None) -> NDArray[np.float64]:
    """(row, class), -inf for a class that no row has."""
    present = np.unique(codes)
    scores = np.full((len(codes), int(codes.max()) + 1), -np.inf)
    rule = LogitBoostClassifier(n_rounds=N_ROUNDS, random_state=0).fit(X, codes, monitor=monitor)
    of_present = rule.decision_function(X)
    scores[:, present] = np.column_stack([-of_present, of_present]) if of_present.ndim == 1 else of_present
    return scores
