"""Plan of the automatic classifier: members, labels and regression, which are decided before its trees are grown."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.automatic.candidates import Candidate
from core.automatic.decision import Choice, decide
from core.automatic.drawn_labels import TrueClasses, VoterShares
from core.automatic.members import N_TREES, N_TREES_BESIDE_REGRESSION
from core.automatic.noise import NotEstimated, SearchedNoise, noise_of_search
from core.automatic.ridge import SharedRidge, may_have_regression, ridge_of_search, searched_votes
from core.automatic.search import SearchedPart, SearchResult, is_over, search
from core.automatic.true_classes import true_classes_of_rows
from core.forests.fitting import Fit
from core.growth.tree_structure import Trees


class Plan(NamedTuple):
    """Result of a search, without the trees of the search that are not needed any more."""

    choice: Choice  # without the calibration, which needs the trees
    noise: SearchedNoise | NotEstimated
    true_classes: TrueClasses | None  # what labels are drawn from; None if trees are grown on the labels as they are
    ridge: SharedRidge | None  # the regression that votes beside the trees
    independent_votes: NDArray[np.float64] | None  # `LeftOutVotes.independent`
    searched_trees: dict[int, Trees]  # number of a candidate -> its first trees

    @property
    def n_trees(self) -> int:
        """Number of trees of all members together."""
        return N_TREES_BESIDE_REGRESSION if self.ridge else N_TREES

    @property
    def reliable_noise(self) -> SearchedNoise | NotEstimated | None:
        """The noise, or None if labels of equal rows contradict the estimate."""
        return None if self.choice.equal_rows else self.noise


def plan_members(
    fit: Fit, part: SearchedPart, candidates: tuple[Candidate, ...], deadline: float | None, has_class_weight: bool
) -> Plan:
    """Search the best of `candidates` and decide what follows from their votes. Raises InvalidInput and FitStopped.

    deadline: time of `time.monotonic` after which no further family is grown and no regression is fitted.
    """
    result = search(part, candidates, deadline)
    out_of_time = is_over(deadline)
    noise = noise_of_search(part.fit, result, has_class_weight)
    choice, true_classes = decide(part.fit, result, noise, len(candidates)), None
    if choice.draws_labels and not isinstance(noise, str):
        true_classes = true_classes_of_rows(fit, part, result, noise, not out_of_time)
    ridge = None if out_of_time else ridge_of_search(part, result, true_classes)
    choice = choice._replace(
        kernel_ridge=ridge and ridge.share,
        skips_regression=out_of_time and may_have_regression(fit),
        **(true_classes.shares if true_classes else VoterShares())._asdict(),
    )
    if true_classes is not None:
        return Plan(choice, noise, true_classes, ridge, searched_votes(result, ridge), {})
    return Plan(choice, noise, None, ridge, None, _trees_of_members(result) if part.is_all_of(fit) else {})


def _trees_of_members(result: SearchResult) -> dict[int, Trees]:
    return {one.scored.number: one.trees for one in result.best}
