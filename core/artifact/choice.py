"""Choice of an automatic classifier in its artifact: the leaderboard and the noise rate that it relied on."""

from typing import Any, get_args

from core.artifact.numbers import finite, share
from core.automatic.auto_classifier import AutoClassifier
from core.automatic.candidates import CANDIDATES, Candidate
from core.automatic.decision import HEAVY_NOISE, Choice
from core.automatic.noise import NotEstimated
from core.automatic.search import N_CHOSEN, ScoredCandidate
from core.exceptions import ArtifactError


def choice_metadata(estimator: AutoClassifier) -> dict[str, Any]:
    """Return the choice as JSON values."""
    choice = estimator.choice_
    return {
        **choice._asdict(),
        "leaderboard": [[one.number, *one.candidate, one.score, one.score_error] for one in choice.leaderboard],
    }


def restore_choice(estimator: AutoClassifier, metadata: dict[str, Any]) -> None:
    """Give an automatic classifier its choice. Raises ArtifactError, KeyError, TypeError and ValueError."""
    leaderboard = tuple(_scored(*entry) for entry in metadata["leaderboard"])
    choice = Choice(**{**metadata, "leaderboard": leaderboard})
    if len({one.number for one in leaderboard}) < len(leaderboard):
        raise ArtifactError("the leaderboard lists a candidate twice.")
    if list(leaderboard) != sorted(leaderboard, key=lambda one: one.rank):
        raise ArtifactError("the leaderboard is not sorted.")
    if type(choice.n_chosen) is not int or choice.n_chosen != min(N_CHOSEN, len(leaderboard)) or not leaderboard:
        raise ArtifactError("the number of members does not match the leaderboard.")
    if choice.n_chosen > len(estimator.trees_):
        raise ArtifactError("there are fewer trees than members.")
    _check_noise(choice)
    estimator.choice_ = choice


def _check_noise(choice: Choice) -> None:
    flags = (choice.is_identified, choice.draws_labels)
    if any(type(flag) is not bool for flag in flags):
        raise ArtifactError("a flag of the choice is not a boolean.")
    if choice.not_estimated is not None:
        if choice.not_estimated not in get_args(NotEstimated) or any(flags):
            raise ArtifactError("the choice relies on an estimate of the noise that it does not have.")
        if choice.noise_rate is not None or choice.noise_rate_error is not None:
            raise ArtifactError("the choice has a noise rate that was not estimated.")
        return
    rate = share(choice.noise_rate)
    share(choice.noise_rate_error)
    if choice.draws_labels != (rate >= HEAVY_NOISE):
        raise ArtifactError("the choice does not follow from the noise rate.")


def _scored(number: Any, kind: Any, max_features: Any, min_samples_leaf: Any, score: Any, error: Any) -> Any:
    candidate = Candidate(kind, max_features, min_samples_leaf)
    if type(number) is not int or not 0 <= number < len(CANDIDATES) or CANDIDATES[number] != candidate:
        raise ArtifactError("the leaderboard lists a forest that no search grows.")
    if finite(error) < 0:
        raise ArtifactError("a standard error is negative.")
    return ScoredCandidate(number, candidate, share(score), finite(error))
