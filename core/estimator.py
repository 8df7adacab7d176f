"""What tree and forest share: parameters, the fit from raw rows to stored arrays, and prediction."""

import os
from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from core.binning import bin_features
from core.growing import FitMonitor, GrowthProblem, Progress, Silent
from core.holdout import held_out_rows
from core.kernels.criteria import Criterion
from core.kernels.growth import GrowthLimits
from core.losses import AdaptiveNegativeExponential, Loss, NegativeExponential, parse_loss
from core.parameters import SELF_CHECKED, SERVER_SIDE, Bounds, Help, parameters_of
from core.randomness import Purpose, Seed, SeedTree
from core.tree_structure import Tree, TreeArrays, nodes_of, weighed_in
from core.tuning import choose_lambda
from core.validation import TrainingData, prediction_rows, training_data
from core.voting import packed_of, packed_votes

#: No tree has more rows or levels, and sums of two such counts fit the kernels' integers.
LARGEST_COUNT = 2**31 - 1

LossChoice = Annotated[
    str | Mapping[str, Any] | Loss,
    SELF_CHECKED,
    Help("Loss whose training risk the splits minimise: a name, or a mapping with its parameters."),
]
MaxDepth = Annotated[
    int | None, Bounds(ge=1, le=LARGEST_COUNT), Help("Longest path from the root to a leaf; none = no limit.")
]
MinSamplesLeaf = Annotated[int, Bounds(ge=1, le=LARGEST_COUNT), Help("Fewest training rows in a leaf.")]
MinRiskDecrease = Annotated[
    float, Bounds(ge=0), Help("A split must lower the training risk of the loss by more than this.")
]
MaxFeatures = Annotated[
    Annotated[int, Bounds(ge=1)] | Annotated[float, Bounds(gt=0, le=1)] | Literal["sqrt", "log2"] | None,
    Help("Features tried at a node, counted among those that vary in it: a number, a share, or none = all."),
]
MaxBins = Annotated[
    int, Bounds(ge=2, le=256), Help("Most bins of a feature; one with no more distinct values loses nothing.")
]
ClassWeights = Annotated[
    Mapping[Any, Annotated[float, Bounds(ge=0)]] | Literal["balanced"] | None,
    Help("Weight of each class, multiplied into the rows' weights."),
]
RandomState = Annotated[Seed, SELF_CHECKED, SERVER_SIDE, Help("Seed of everything random in the fit.")]
Jobs = Annotated[
    int | None, SERVER_SIDE, Help("Threads; none = 1, -1 = one per processor. Results do not depend on it.")
]


def thread_count(n_jobs: int | None) -> int:
    """Threads behind `n_jobs`, counted as joblib does: -1 = all processors, -2 = all but one."""
    if n_jobs is None or n_jobs > 0:
        return n_jobs or 1
    n_processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, n_processors + 1 + n_jobs) if n_jobs else 1


def feature_count(max_features: int | float | str | None, n_features: int) -> int:
    """How many features `max_features` means for a data set of `n_features`."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(np.log2(n_features)))
    if isinstance(max_features, float):
        return max(1, int(max_features * n_features))
    return min(int(max_features), n_features)


class GrownClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers made of grown trees.

    Fitted attributes: `classes_`, `n_features_in_`, `feature_names_in_` (when X had names), `loss_` (the loss that
    grew the trees), `trees_` (TreeArrays), and with an adaptive loss `lambda_` and `tuning_scores_`.
    """

    loss: Any
    max_depth: int | None
    min_samples_leaf: int
    min_risk_decrease: float
    max_features: int | float | str | None
    max_bins: int
    class_weight: Any
    random_state: Seed
    n_jobs: int | None

    @abstractmethod
    def _n_trees(self) -> int:
        """How many trees one growth makes."""

    @abstractmethod
    def _grow(
        self,
        problem: GrowthProblem,
        weights: NDArray[np.float64],
        criterion: Criterion,
        seeds: SeedTree,
        progress: Progress,
    ) -> TreeArrays:
        """Grow all trees on the rows of positive weight."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, monitor: FitMonitor | None = None) -> Self:
        """Grow on X (row, feature), NaN = missing, and labels y (row,); `sample_weight` (row,) is not negative.

        Raises InvalidParameter, InvalidInput, and FitStopped when `monitor` asks for it.
        """
        for parameter in parameters_of(type(self)):
            parameter.check(getattr(self, parameter.argument), type(self).__name__)
        loss = parse_loss(self.loss)
        data = training_data(self, X, y, sample_weight, self.class_weight)
        seeds = SeedTree(self.random_state)
        problem = self._problem(data)
        watcher = monitor or Silent()
        if isinstance(loss, AdaptiveNegativeExponential):
            loss = self._tuned(loss, problem, data, seeds, watcher)
        progress = Progress(watcher, "growing", self._n_trees())
        grown = self._grow(problem, data.weights, loss.criterion(problem.n_classes), seeds, progress)
        self.trees_ = weighed_in(data.weight_unit, grown)
        self.loss_ = loss
        self.classes_ = data.labels.classes
        return self

    def _problem(self, data: TrainingData) -> GrowthProblem:
        limits = GrowthLimits(
            max_depth=np.iinfo(np.int64).max if self.max_depth is None else int(self.max_depth),
            min_samples_leaf=int(self.min_samples_leaf),
            min_risk_decrease=float(self.min_risk_decrease),
            max_features=feature_count(self.max_features, data.X.shape[1]),
        )
        features = bin_features(data.X, int(self.max_bins), thread_count(self.n_jobs))
        return GrowthProblem(features, data.labels.codes, len(data.labels.classes), limits)

    def _tuned(
        self,
        loss: AdaptiveNegativeExponential,
        problem: GrowthProblem,
        data: TrainingData,
        seeds: SeedTree,
        monitor: FitMonitor,
    ) -> NegativeExponential:
        """The loss with lambda chosen on held-out rows; sets `lambda_` and `tuning_scores_`."""
        codes = data.labels.codes
        generator = seeds.generator(Purpose.HOLDOUT)
        held_out = held_out_rows(codes, loss.validation_fraction, True, generator).test_rows
        progress = Progress(monitor, "tuning", len(loss.grid) * self._n_trees())

        def grow_on(candidate: Loss, weights: NDArray[np.float64]) -> TreeArrays:
            return self._grow(problem, weights, candidate.criterion(problem.n_classes), seeds, progress)

        tuned = choose_lambda(loss, grow_on, data.X, codes, data.weights, held_out)
        self.lambda_, self.tuning_scores_ = tuned
        return NegativeExponential(self.lambda_)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Mean class distribution of the rows' leaves, (row, class), columns in the order of `classes_`."""
        if "trees_" not in vars(self):  # for one row, scikit-learn's check takes longer than the prediction
            check_is_fitted(self)
        rows = prediction_rows(self, X)
        packed = packed_of(self, self.trees_, self._leaf_votes, rows.dtype)
        return packed_votes(rows, packed, thread_count(self.n_jobs))

    def _leaf_votes(self) -> NDArray[np.float64]:
        """What each leaf adds to the mean, (node, class)."""
        return self.trees_.nodes.value

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row; ties go to the class that comes first in `classes_`."""
        probabilities = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
        return labels

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Mean over trees of each feature's share of the impurity decrease, (feature,), summing to 1 where any tree
        split.
        """
        check_is_fitted(self)
        n_trees = len(self.trees_.offsets) - 1
        shares = [self._tree(t).compute_feature_importances() for t in range(n_trees)]
        mean = np.mean(shares, axis=0)
        importances: NDArray[np.float64] = mean / mean.sum() if mean.sum() > 0 else mean
        return importances

    def _tree(self, tree: int) -> Tree:
        return Tree(nodes_of(self.trees_, tree), self.n_features_in_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
