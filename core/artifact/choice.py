"""Choice of an automatic classifier in its artifact: the leaderboard and the noise rate that it relied on."""

from typing import Any, get_args

from core.artifact.numbers import finite, share
from core.automatic.auto_classifier import AutoClassifier
from core.automatic.calibration import MAX_POWER, MIN_POWER, VoteCalibration
from core.automatic.candidates import Candidate, ForestKind
from core.automatic.decision import Choice
from core.automatic.equal_rows import EqualRows
from core.automatic.noise import NotEstimated
from core.automatic.ridge import RidgeShare
from core.automatic.scores import ScoredCandidate
from core.exceptions import ArtifactError

#: Fields that files of all versions have, although `Choice` has defaults for them.
_IN_ALL_FILES = ("noise_rate", "noise_rate_error", "noise_asymmetry", "not_estimated", "is_identified", "draws_labels")


def choice_metadata(estimator: AutoClassifier) -> dict[str, Any]:
    """Return the choice as JSON values."""
    choice = estimator.choice_
    return {
        **choice._asdict(),
        "leaderboard": [
            [one.number, *one.candidate, one.score, one.score_error, one.expected_increase]
            for one in choice.leaderboard
        ],
    }


def restore_choice(estimator: AutoClassifier, metadata: dict[str, Any]) -> None:
    """Give an automatic classifier its choice. Raises ArtifactError, KeyError, TypeError and ValueError."""
    if missing := [name for name in _IN_ALL_FILES if name not in metadata]:
        raise ArtifactError(f"the choice lacks {', '.join(missing)}.")
    leaderboard = tuple(_scored(*entry) for entry in metadata["leaderboard"])
    nested = {
        "leaderboard": leaderboard,
        "kernel_ridge": _ridge_share(metadata.get("kernel_ridge")),
        "equal_rows": _equal_rows(metadata.get("equal_rows")),
        "calibration": _calibration(metadata.get("calibration")),
    }
    choice = Choice(**{**metadata, **nested})
    if len({one.number for one in leaderboard}) < len(leaderboard):
        raise ArtifactError("the leaderboard lists a candidate twice.")
    if list(leaderboard) != sorted(leaderboard, key=lambda one: one.rank):
        raise ArtifactError("the leaderboard is not sorted.")
    if type(choice.n_chosen) is not int or not 1 <= choice.n_chosen <= min(len(leaderboard), len(estimator.trees_)):
        raise ArtifactError("the number of members does not match the leaderboard and the trees.")
    _check_skipped(choice)
    _check_noise(choice)
    _check_assumed_noise(choice)
    _check_voters(choice)
    estimator.choice_ = choice


def _ridge_share(entry: Any) -> RidgeShare | None:
    """Return the share of a regression. Older files have none."""
    if entry is None:
        return None
    ridge = RidgeShare(*(share(number) for number in entry))
    if not 0 < ridge.share < 1:
        raise ArtifactError("the share of the kernel ridge regression is not between 0 and 1.")
    return ridge


def _equal_rows(entry: Any) -> EqualRows | None:
    """Return the rows that contradict the estimate. Older files have none."""
    if entry is None:
        return None
    pairs = EqualRows(*entry)
    if any(type(number) is not int for number in pairs) or not 0 <= pairs.n_agreeing <= pairs.n_pairs:
        raise ArtifactError("the numbers of pairs of equal rows are impossible.")
    return pairs


def _calibration(entry: Any) -> VoteCalibration | None:
    """Return the calibration of the votes. Older files have none."""
    if entry is None:
        return None
    power, noise_rate = entry
    if not MIN_POWER <= finite(power) <= MAX_POWER:
        raise ArtifactError(f"the power of the votes is not between {MIN_POWER:g} and {MAX_POWER:g}.")
    return VoteCalibration(finite(power), share(noise_rate))


def _check_skipped(choice: Choice) -> None:
    """Check what the time budget left out; older files do not say it."""
    if type(choice.n_skipped) is not int or choice.n_skipped < 0:
        raise ArtifactError("the number of skipped candidates is not a natural number.")
    if type(choice.skips_regression) is not bool:
        raise ArtifactError("a flag of the choice is not a boolean.")


def _check_noise(choice: Choice) -> None:
    flags = (choice.is_identified, choice.draws_labels)
    if any(type(flag) is not bool for flag in flags):
        raise ArtifactError("a flag of the choice is not a boolean.")
    if choice.equal_rows is not None and (choice.draws_labels or choice.not_estimated is not None):
        raise ArtifactError("the choice relies on an estimate of the noise that equal rows contradict.")
    if choice.not_estimated is not None:
        if choice.not_estimated not in get_args(NotEstimated) or any(flags):
            raise ArtifactError("the choice relies on an estimate of the noise that it does not have.")
        if any(number is not None for number in _numbers(choice)):
            raise ArtifactError("the choice has a noise rate that was not estimated.")
        return
    for number in _numbers(choice):
        share(number)


def _check_voters(choice: Choice) -> None:
    """Check what beside forests has a share in the votes on the true classes; nothing has in older files."""
    shares = (share(choice.regression_share), share(choice.naive_bayes_share))
    if sum(shares) >= 1 or (any(shares) and not choice.draws_labels):
        raise ArtifactError("forests have no share in the votes on the true classes, or no labels are drawn.")


def _check_assumed_noise(choice: Choice) -> None:
    """Check that no more noise is assumed than was estimated."""
    relied_on = choice.noise_rate if choice.equal_rows is None else None
    if choice.calibration is not None and choice.calibration.noise_rate > (relied_on or 0.0):
        raise ArtifactError("the probabilities assume more noise than the choice has estimated.")


def _numbers(choice: Choice) -> tuple[float | None, ...]:
    return (choice.noise_rate, choice.noise_rate_error, choice.noise_asymmetry)


def _scored(
    number: Any, kind: Any, max_features: Any, min_samples_leaf: Any, score: Any, error: Any, increase: Any = 0.0
) -> ScoredCandidate:
    """Return an entry of the leaderboard.

    Candidates may be others than those of today's search, and older files have no expected increase.
    """
    if type(number) is not int or number < 0:
        raise ArtifactError("the number of a candidate is not a natural number.")
    if kind not in get_args(ForestKind) or not (max_features == "sqrt" or share(max_features) > 0):
        raise ArtifactError("the leaderboard lists a forest of an unknown kind.")
    if type(min_samples_leaf) is not int or min_samples_leaf < 1:
        raise ArtifactError("the leaderboard lists a forest whose leaves have no rows.")
    if finite(error) < 0:
        raise ArtifactError("a standard error is negative.")
    if abs(finite(increase)) > 1:
        raise ArtifactError("the expected increase of a score is not in [-1, 1].")
    candidate = Candidate(kind, max_features, min_samples_leaf)
    return ScoredCandidate(number, candidate, share(score), finite(error), finite(increase))
