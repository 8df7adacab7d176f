"""Choice of the candidates that vote and of the labels that their trees are grown on, with its reasons.

Averaging the best candidates was more accurate than the best one at all noise rates that were measured. Under heavy
noise, and under noise that prefers some classes, trees grown on the probabilities of the true classes are more accurate
than trees grown on the labels; under light uniform noise, they are less accurate. The estimate of the noise tells the
cases apart, unless labels of equal rows contradict it, or votes agree with the labels less than by chance:
`docs/explanation/auto.md`.
"""

from typing import Any, NamedTuple, get_args

import numpy as np

from core.automatic.calibration import VoteCalibration
from core.automatic.equal_rows import EqualRows, contradicting_rows
from core.automatic.noise import NotEstimated, SearchedNoise
from core.automatic.ridge import RidgeShare
from core.automatic.scores import ScoredCandidate
from core.automatic.search import SearchResult
from core.forests.fitting import Fit
from core.noise.estimation import TransitionEstimate
from core.noise.noise_models import even_pattern, transition_rows

#: Estimated share of wrong labels from which on trees are grown on labels drawn from the posterior.
HEAVY_NOISE = 0.3
#: Estimated asymmetry of the noise from which on they are as well. Votes would follow labels that are given too often.
ASYMMETRIC_NOISE = 0.05
_OBSTACLES: dict[NotEstimated, str] = {
    "class_weight": "class weights would bias an estimate of the noise",
    "few_rows": "there are too few rows of each class to estimate how many labels are wrong",
    "many_classes": "there are too many classes to estimate how many labels are wrong",
    "one_class": "all labels are equal",
}
assert set(_OBSTACLES) == set(get_args(NotEstimated))


class Choice(NamedTuple):
    """Result of a search, as JSON values beside the scores."""

    leaderboard: tuple[ScoredCandidate, ...]  # best expected score first
    n_chosen: int  # the first candidates of the leaderboard
    noise_rate: float | None = None  # estimated share of wrong labels; None without an estimate
    noise_rate_error: float | None = None  # its standard error
    noise_asymmetry: float | None = None  # largest difference between the transition matrix and that of uniform noise
    not_estimated: NotEstimated | None = None  # why there is no estimate
    is_identified: bool = False  # whether the labels identify the noise
    draws_labels: bool = False  # whether trees are grown on labels drawn from the probabilities of the true classes
    kernel_ridge: RidgeShare | None = None  # share of a regression in the vote; None without one
    equal_rows: EqualRows | None = None  # rows whose labels contradict the estimate, which is then not relied on
    n_skipped: int = 0  # candidates that were not compared because `time_budget` was over
    skips_regression: bool = False  # whether no regression was fitted because `time_budget` was over
    calibration: VoteCalibration | None = None  # of the class probabilities; None in files of older versions
    naive_bayes_share: float = 0.0  # in the votes that the probabilities of the true classes follow from
    regression_share: float = 0.0  # the same, of a regression of the given labels; not that of `kernel_ridge`

    @property
    def chosen(self) -> tuple[ScoredCandidate, ...]:
        """Candidates whose trees vote."""
        return self.leaderboard[: self.n_chosen]

    def reason(self) -> str:
        """Return in a sentence what was chosen and why."""
        best, subject = self.leaderboard[0], "it" if len(self.leaderboard) == 1 else "the best"
        return (
            f"{_members(self.n_chosen, len(self.leaderboard))}: {subject} is right on {best.score:.1%} "
            f"± {best.score_error:.1%} of the given labels out of bag; {self._time()}{self._ridge()}{self._noise()}."
        )

    def _time(self) -> str:
        skipped = [f"{self.n_skipped} other forest{'s' if self.n_skipped > 1 else ''}"] if self.n_skipped else []
        skipped += ["a regression beside them"] if self.skips_regression else []
        return f"the time budget was over before {' and '.join(skipped)} could be tried; " if skipped else ""

    def _ridge(self) -> str:
        if self.kernel_ridge is None:
            return ""
        ridge = self.kernel_ridge
        changed = f"which is right on {ridge.score:.2%} of them with it and on {ridge.forests_score:.2%} without it"
        return f"a kernel ridge regression has {ridge.share:.0%} of the vote, {changed}; "

    def _noise(self) -> str:
        if self.not_estimated is not None:
            return f"{_OBSTACLES[self.not_estimated]}, so that trees are grown on the labels as they are"
        estimate = f"about {self.noise_rate:.1%} ± {self.noise_rate_error:.1%} of the labels are estimated to be wrong"
        if not self.is_identified:
            estimate += ", although the features predict the labels too badly to identify the noise"
        if self.draws_labels:
            drawn = "trees are grown on labels drawn from the probabilities of the true classes"
            return f"{estimate}, {self._cause()}, so that {drawn}{self._voters()}"
        return f"{estimate}, {self._obstacle_to_drawing()}, so that trees are grown on the labels as they are"

    def _obstacle_to_drawing(self) -> str:
        """Return why labels are not drawn."""
        if self.equal_rows is not None:
            return f"but {_contradiction(self.equal_rows)}"
        if _is_much(self.noise_rate or 0.0, self.noise_asymmetry or 0.0):
            return "but trees that have not seen a label agree with it less often than by chance"
        return self._below_threshold()

    def _voters(self) -> str:
        """Return what votes the probabilities of the true classes follow from, beside those of forests."""
        others = {"a regression of the given labels": self.regression_share, "naive Bayes": self.naive_bayes_share}
        voters = [f"of {name} ({share:.0%})" for name, share in others.items() if share]
        if not voters:
            return ""
        voters.insert(0, f"of forests ({1 - sum(others.values()):.0%})")
        return f", which follow from votes {', '.join(voters[:-1])} and {voters[-1]}"

    def _below_threshold(self) -> str:
        """Return how the estimate compares with heavy noise, where it may be rounded to the same figure."""
        is_close = f"{self.noise_rate:.1%}" == f"{HEAVY_NOISE:.1%}"
        return f"which is {'just below' if is_close else 'less than'} {HEAVY_NOISE:.0%}"

    def _cause(self) -> str:
        """Return why labels are drawn."""
        is_heavy = self.noise_rate is not None and self.noise_rate >= HEAVY_NOISE
        return f"which is {HEAVY_NOISE:.0%} or more" if is_heavy else "some classes more often than others"

    def meaning_of_probabilities(self) -> str:
        """Return in a sentence which label the class probabilities are those of."""
        if self.calibration is None:
            return "Class probabilities are mean votes, which are not calibrated."
        if not self.calibration.noise_rate:
            return "Class probabilities are those of the given label: no noise is assumed."
        rate = f"{self.calibration.noise_rate:.2%} of the labels are wrong"
        return f"Class probabilities are those of the true class, assuming that {rate}, less than estimated."

    def to_json(self) -> dict[str, Any]:
        """Return the choice as JSON values."""
        return {
            "reason": self.reason(),
            "noise_rate": self.noise_rate,
            "noise_rate_error": self.noise_rate_error,
            "noise_asymmetry": self.noise_asymmetry,
            "not_estimated": self.not_estimated,
            "is_identified": self.is_identified,
            "draws_labels": self.draws_labels,
            "n_chosen": self.n_chosen,
            "kernel_ridge": None if self.kernel_ridge is None else self.kernel_ridge._asdict(),
            "equal_rows": None if self.equal_rows is None else self.equal_rows._asdict(),
            "n_skipped": self.n_skipped,
            "skips_regression": self.skips_regression,
            "naive_bayes_share": self.naive_bayes_share,
            "regression_share": self.regression_share,
            "calibration": None if self.calibration is None else self.calibration._asdict(),
            "leaderboard": [
                {
                    "number": one.number,
                    **one.candidate._asdict(),
                    "score": one.score,
                    "score_error": one.score_error,
                    "expected_increase": one.expected_increase,
                }
                for one in self.leaderboard
            ],
        }


def _members(n_chosen: int, n_candidates: int) -> str:
    if n_candidates == 1:
        return "Only one forest was compared in the search"
    if n_chosen == n_candidates:
        return f"All {n_candidates} forests of the search vote"
    return f"The {n_chosen} best of {n_candidates} forests by out-of-bag accuracy vote"


def _contradiction(rows: EqualRows) -> str:
    """Return in words what contradicts the estimate of the noise."""
    share = f"{rows.n_agreeing} of {rows.n_pairs} pairs"
    allowed = "more than so much noise allows (if they are copies, leave them out or put them into one group)"
    return f"{share} of rows with equal features have equal labels, {allowed}"


def decide(fit: Fit, result: SearchResult, noise: SearchedNoise | NotEstimated, n_candidates: int) -> Choice:
    """Return the choice that follows from the scores and the estimate of the noise, without a regression.

    fit: rows and labels of the search. n_candidates: how many it would have compared without a time budget.
    """
    leaderboard, n_chosen = tuple(sorted(result.scores, key=lambda one: one.rank)), len(result.best)
    n_skipped = n_candidates - len(leaderboard)
    if isinstance(noise, str):
        return Choice(leaderboard, n_chosen, not_estimated=noise, n_skipped=n_skipped)
    estimate = noise.fitted.estimate
    asymmetry = noise_asymmetry(estimate)
    equal_rows = contradicting_rows(fit, noise) if estimate.noise_rate >= HEAVY_NOISE else None
    is_relied_on = equal_rows is None and not estimate.identification.is_below_chance
    return Choice(
        leaderboard,
        n_chosen,
        noise_rate=estimate.noise_rate,
        noise_rate_error=estimate.noise_rate_error,
        noise_asymmetry=asymmetry,
        is_identified=estimate.identification.is_identified,
        draws_labels=is_relied_on and _is_much(estimate.noise_rate, asymmetry),
        equal_rows=equal_rows,
        n_skipped=n_skipped,
    )


def _is_much(noise_rate: float, asymmetry: float) -> bool:
    """Return whether trees on drawn labels are more accurate under such noise."""
    return noise_rate >= HEAVY_NOISE or asymmetry >= ASYMMETRIC_NOISE


def noise_asymmetry(estimate: TransitionEstimate) -> float:
    """Return the largest difference between the transition matrix and that of uniform noise with the same mean rate."""
    transition = estimate.transition.rows
    mean_rate = float(estimate.priors @ (1 - np.diag(transition)))
    uniform = transition_rows(np.full(len(transition), mean_rate), even_pattern(len(transition)))
    return round(float(np.abs(transition - uniform).max()), 12)  # without the rounding errors of equal matrices
