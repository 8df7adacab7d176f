"""Noise-estimation forest: a forest whose out-of-bag votes estimate the noise of the labels that it was grown on.

A leaf of several rows outvotes a wrong label, and each row is left out of more than a third of the bootstrap samples.
Audits grow this forest by default; a fit that corrects for an unknown transition matrix grows it before its own trees.
"""

from typing import Any

import numpy as np

from core.exceptions import InvalidNoise
from core.forests.gini_forest import grow_gini_forest
from core.groups import check_separable
from core.growth.growth_problem import GrowthSettings, growth_problem
from core.growth.out_of_bag import Bootstrap, OutOfBagVotes, out_of_bag_votes
from core.losses.catalog import SquaredError
from core.monitoring import FitMonitor, Progress
from core.noise.estimation import TransitionEstimate, fit_noise
from core.noise.label_probabilities import LabelProbabilities
from core.randomness import Purpose, SeedTree
from core.validation.training_data import TrainingData

#: A row has 74 out-of-bag votes on average.
N_TREES = 200
_GROWTH = GrowthSettings(min_samples_leaf=5, max_features="sqrt")
#: The same forest as parameters of a ForestClassifier, without those that have their default value.
FOREST_PARAMETERS: dict[str, Any] = {"n_estimators": N_TREES, "min_samples_leaf": _GROWTH.min_samples_leaf}

#: The trees that leave a row out saw one row fewer of its class. If leaves hold a large part of a class, this bias
#: dominates the votes, which then contradict every label. For well-separated groups of equal size with correct labels,
#: half of the labels or more are taken for wrong up to 13 rows of 2 classes, 15 of 3, 17 of 6, 19 of 8 and 20 of 10;
#: from 20 rows on, and with three times as many rows as classes, almost none are.
_MIN_ROWS, _MIN_ROWS_PER_CLASS = 20, 3

ESTIMATING = "estimating"  # phase of the growth of this forest before that of a corrected fit


def estimate_noise(data: TrainingData, seeds: SeedTree, n_threads: int, monitor: FitMonitor) -> TransitionEstimate:
    """Estimate the noise of the labels of `data` from the out-of-bag votes of a forest on its rows.

    All rows of positive weight count equally, since the noise of a label does not depend on the weight of its row. The
    estimate depends on the rows, labels and seed, but not on `n_threads`.

    Raises InvalidNoise for fewer than `min_rows` rows, and FitStopped when `monitor` asks for it.
    """
    check_enough_rows(len(data.X), len(data.labels.classes))
    votes = _votes(data, seeds, n_threads, monitor)
    probabilities = LabelProbabilities(
        votes.mean, data.labels.codes.astype(np.int64), data.labels.classes, votes.n_trees > 0
    )
    return fit_noise(probabilities, monitor.stop_flag, groups=data.groups).estimate


def min_rows(n_classes: int) -> int:
    """Return the number of rows that an estimate for `n_classes` classes needs."""
    return max(_MIN_ROWS, _MIN_ROWS_PER_CLASS * n_classes)


def too_few_to_estimate(n_rows: int, n_classes: int) -> str | None:
    """Return why the noise of so many labels cannot be estimated, or None if it can."""
    least = min_rows(n_classes)
    if n_rows >= least:
        return None
    return f"{n_rows} rows of {n_classes} classes are too few to tell wrong labels from right ones; {least} are needed"


def check_enough_rows(n_rows: int, n_classes: int) -> None:
    """Raise InvalidNoise if the training rows are too few to estimate a transition matrix."""
    if reason := too_few_to_estimate(n_rows, n_classes):
        raise InvalidNoise(
            f"transition of correction is 'estimate', and in training {reason}. Train on more rows, give the matrix as "
            "rows of numbers, or train without a correction.",
            "transition",
        )


def _votes(data: TrainingData, seeds: SeedTree, n_threads: int, monitor: FitMonitor) -> OutOfBagVotes:
    check_separable(data.groups, "the estimation of label noise")
    bootstrap = Bootstrap(np.ones(len(data.X)), seeds.kernel_states(N_TREES, Purpose.ESTIMATION), data.groups)
    progress = Progress(monitor, ESTIMATING, N_TREES)
    trees = grow_gini_forest(
        growth_problem(data, _GROWTH, n_threads, monitor.stop_flag), bootstrap, n_threads, progress
    )
    return out_of_bag_votes(data.X, trees, SquaredError().vote, bootstrap, n_threads, monitor.stop_flag)
