"""The forest that judges labels: its out-of-bag votes say how the labels that it grew on were mixed up.

Leaves of several rows outvote a wrong label, and a row is left out by more than a third of the trees. Audits grow such
a forest unless told otherwise; fits that correct for noise of an unknown matrix grow one before their own trees.
"""

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidNoise
from core.growth.binning import bin_features
from core.growth.growing import GrowthProblem, Rooms, grow_in_threads, grow_on_bootstrap
from core.growth.growth_parameters import feature_count
from core.growth.out_of_bag import Bootstrap, OutOfBagVotes, out_of_bag_votes
from core.growth.tree_structure import Trees
from core.kernels.growth.nodes import GrowthLimits
from core.kernels.search.splitting import SearchLimits
from core.losses.catalogue import SquaredError
from core.monitoring import FitMonitor, Progress
from core.noise.estimation import TransitionEstimate, fit_noise
from core.noise.given_probabilities import GivenProbabilities
from core.randomness import Purpose, SeedTree
from core.validation.training_data import TrainingData

#: A row has 74 out-of-bag votes on average, and leaves of at least five rows outvote a wrong label.
JUDGES, ROWS_A_LEAF = 200, 5
#: Trees that lack a row have seen one label of its class less. Where leaves hold a good part of a class this is most of
#: what votes say, and they are then against every label. Of groups far apart with right labels, all of one size, half
#: and more are taken for wrong up to 13 rows of 2 classes, 15 of 3, 17 of 6, 19 of 8 and 20 of 10; from 20 rows and 3 a
#: class on next to none are.
_FEWEST_ROWS, _FEWEST_ROWS_A_CLASS = 20, 3
#: What a monitor hears of the judges' growth.
ESTIMATING = "estimating"

_MAX_BINS = 256


def estimated_noise(data: TrainingData, seeds: SeedTree, n_threads: int, monitor: FitMonitor) -> TransitionEstimate:
    """The noise of the labels of `data`, by votes of a forest on its rows.

    Each row that trains counts once: the matrix is of labels, and which of them are wrong does not depend on what the
    rows weigh. Depends on rows, labels and seed alone, not on `n_threads`.

    Raises InvalidNoise for fewer than `fewest_rows` rows, FitStopped when `monitor` asks for it.
    """
    check_enough_rows(len(data.X), len(data.labels.classes))
    votes = _votes(data, seeds, n_threads, monitor)
    given = GivenProbabilities(votes.mean, data.labels.codes.astype(np.int64), data.labels.classes, votes.n_trees > 0)
    return fit_noise(given, monitor.stop_flag).estimate


def fewest_rows(n_classes: int) -> int:
    """How many rows it takes to judge the labels of so many classes."""
    return max(_FEWEST_ROWS, _FEWEST_ROWS_A_CLASS * n_classes)


def too_few_to_judge(n_rows: int, n_classes: int) -> str | None:
    """Why the labels of so many rows cannot be judged, or None."""
    fewest = fewest_rows(n_classes)
    if n_rows >= fewest:
        return None
    return f"{n_rows} rows of {n_classes} classes are too few to tell wrong labels from right ones; it takes {fewest}"


def check_enough_rows(n_rows: int, n_classes: int) -> None:
    """Raise InvalidNoise for fewer training rows than a matrix can be estimated from."""
    if reason := too_few_to_judge(n_rows, n_classes):
        raise InvalidNoise(
            f"transition of correction is 'estimate', and in training {reason}: train on more rows, give the matrix as "
            "rows of numbers, or train without correction.",
            "transition",
        )


def _votes(data: TrainingData, seeds: SeedTree, n_threads: int, monitor: FitMonitor) -> OutOfBagVotes:
    weights = np.ones(len(data.X))
    states = seeds.kernel_states(JUDGES, Purpose.ESTIMATION)
    progress = Progress(monitor, ESTIMATING, JUDGES)
    trees = _judges(_problem(data, n_threads), weights, states, n_threads, progress)
    vote = SquaredError().vote
    return out_of_bag_votes(data.X, trees, vote, Bootstrap(weights, states), n_threads, monitor.stop_flag)


def _judges(
    problem: GrowthProblem,
    weights: NDArray[np.float64],
    states: NDArray[np.uint64],
    n_threads: int,
    progress: Progress,
) -> Trees:
    criterion = SquaredError().criterion(problem.n_classes)
    # The states are drawn from while trees grow, and the votes need them as they were before.
    return grow_in_threads(
        lambda state: grow_on_bootstrap(problem, weights, criterion, state, progress), states.copy(), n_threads
    )


def _problem(data: TrainingData, n_threads: int) -> GrowthProblem:
    n_rows, n_features = data.X.shape
    limits = GrowthLimits(
        max_depth=n_rows,
        max_leaf_nodes=0,
        min_risk_decrease=0.0,
        search=SearchLimits(feature_count("sqrt", n_features), ROWS_A_LEAF, random_cuts=False),
    )
    features = bin_features(data.X, _MAX_BINS, n_threads)
    return GrowthProblem(features, data.labels.codes.astype(np.uint16), len(data.labels.classes), limits, Rooms())
