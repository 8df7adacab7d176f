"""Base class of trees and forests: parameters, the fit from raw rows to trees, and prediction."""

import math
from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core.class_votes import winning_classes
from core.classifier_contract import ClassifierContract
from core.compilation import announce_compilation
from core.fit_summary import FitSummary, growth_summary
from core.forests.fitting import Fit, Grower, GrownTrees
from core.forests.noise_estimation_forest import ESTIMATING, N_TREES, estimate_noise
from core.forests.tuning import LossStrategy, loss_strategy
from core.growth.growing import thread_count
from core.growth.growth_problem import GrowthProblem, GrowthSettings, growth_problem
from core.growth.tree_structure import Tree, Trees, rescale_node_weights
from core.growth.voting import Vote, cached_packed_trees, packed_votes
from core.kernels.criteria.catalog import Criterion
from core.losses.base import Loss
from core.losses.parsing import parse_loss
from core.monitoring import FitMonitor, NullMonitor, Progress
from core.noise.correction import (
    CorrectedLabels,
    Correction,
    check_class_weights,
    clip_to_simplex,
    leaf_vote,
    parse_correction,
)
from core.noise.estimation import TransitionEstimate
from core.parameters import parameters_of
from core.randomness import Seed, SeedTree
from core.validation.categories import CategoryValues
from core.validation.training_data import TrainingData, class_weight_per_class, prediction_rows, training_data


class GrownClassifier(ClassifierContract):
    """Base of the classifiers made of grown trees.

    Fitted attributes:

    - `classes_`, `n_features_in_`, and `feature_names_in_` if X has column names;
    - `loss_`, the loss that the trees were grown with, and `trees_` (Trees);
    - `lambda_` and `tuning_scores_` if the loss is adaptive;
    - `correction_`, None without a correction, and `noise_estimate_` (TransitionEstimate) if the transition matrix was
      estimated; the estimate is not saved in artifacts.

    Trees store the class distributions of the observed labels; a correction applies to their votes.
    """

    #: Fitted attributes that only some fits set.
    _OPTIONAL_ATTRIBUTES = ("lambda_", "tuning_scores_", "oob_score_", "oob_decision_function_", "noise_estimate_")

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    loss_: Loss
    trees_: Trees
    lambda_: float
    tuning_scores_: dict[float, float]
    oob_score_: float
    schema_: dict[str, Any] | None
    is_categorical_: NDArray[np.bool_] | None = None
    category_values_: CategoryValues = ()
    n_categories_: NDArray[np.int64] | None = None
    correction_: CorrectedLabels | None = None
    noise_estimate_: TransitionEstimate

    loss: Any
    correction: Any
    max_depth: int | None
    max_leaf_nodes: int | None
    min_samples_leaf: int
    min_risk_decrease: float
    max_features: int | float | str | None
    splitter: str
    max_bins: int | None
    categorical_features: Any
    class_weight: Any
    random_state: Seed
    n_jobs: int | None

    @abstractmethod
    def _n_trees(self) -> int:
        """Return the number of trees of the classifier."""

    @abstractmethod
    def _grow(
        self,
        problem: GrowthProblem,
        weights: NDArray[np.float64],
        criterion: Criterion,
        seeds: SeedTree,
        progress: Progress,
    ) -> Trees:
        """Grow all trees on the rows of positive weight."""

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, monitor: FitMonitor | None = None
    ) -> Self:
        """Grow the trees on X (row, feature), NaN = missing, and labels y (row,).

        `sample_weight` (row,) is not negative. `groups` (row,) are any hashable values: bootstrap samples draw groups
        instead of rows, and rows of one group are never on both sides of an out-of-bag vote or a validation split.
        Raises InvalidParameter, InvalidInput, and FitStopped when `monitor` asks for it.
        """
        announce_compilation()
        strategy, correction = self._checked_parameters()
        data = training_data(self, X, y, sample_weight, self.class_weight, groups)
        self._check_data(data)
        fit = Fit(data, SeedTree(self.random_state), monitor or NullMonitor(), thread_count(self.n_jobs))
        corrected_labels, attributes = self._corrected_labels(correction, fit)
        fit = fit._replace(correction=corrected_labels)
        result = strategy.grow(Grower(fit, self._problem(fit), self._n_trees(), self._grow))
        self._set_optional_attributes(
            {**attributes, **result.attributes, **self._attributes_from_training_rows(result, fit)}
        )
        rescale_node_weights(result.trees, data.weight_unit)
        self.trees_ = result.trees
        self.loss_ = result.loss
        self.correction_ = fit.correction
        self.classes_ = data.labels.classes
        return self

    def phases(self) -> dict[str, int]:
        """Return the phases that a monitor of `fit` receives, in order, with the number of trees that each grows.

        Raises InvalidParameter for parameters that `fit` would refuse before it reads any data.
        """
        strategy, correction = self._checked_parameters()
        estimation = {ESTIMATING: N_TREES} if correction and correction.transition is None else {}
        return {**estimation, **strategy.phases(self._n_trees())}

    def _checked_parameters(self) -> tuple[LossStrategy, Correction | None]:
        """Check all parameters and return the strategy of the loss and the correction. Raises InvalidParameter."""
        for parameter in parameters_of(type(self)):
            parameter.check(getattr(self, parameter.argument), type(self).__name__)
        loss = parse_loss(self.loss)
        strategy = loss_strategy(loss, self._bootstraps(), type(self).__name__)
        self._check_combinations()
        return strategy, parse_correction(self.correction, loss)

    def _check_combinations(self) -> None:
        """Raise InvalidParameter for parameters that exclude each other."""

    def _check_data(self, data: TrainingData) -> None:
        """Raise InvalidInput for rows that do not go with the parameters."""

    def _corrected_labels(
        self, correction: Correction | None, fit: Fit
    ) -> tuple[CorrectedLabels | None, dict[str, Any]]:
        """Return the label correction of the fit, and the fitted attributes of its estimation."""
        if correction is None:
            return None, {}
        labels = replace(fit.data.labels, codes=fit.data.input_rows.codes)
        weights = class_weight_per_class(labels, self.class_weight)
        check_class_weights(labels.classes, weights)
        if correction.transition is not None:
            return correction.corrected_labels(labels.classes, weights), {}
        noise = estimate_noise(fit.data, fit.seeds, fit.n_threads, fit.monitor)
        estimated = correction.with_estimate(noise.transition)
        return estimated.corrected_labels(labels.classes, weights), {"noise_estimate_": noise}

    def _set_optional_attributes(self, attributes: dict[str, Any]) -> None:
        """Set the optional attributes of this fit and delete those that only an earlier fit has set."""
        for name in self._OPTIONAL_ATTRIBUTES:
            if hasattr(self, name):
                delattr(self, name)
        for name, value in attributes.items():
            setattr(self, name, value)

    def _bootstraps(self) -> bool:
        """Return whether each tree grows on a bootstrap sample, which leaves rows out."""
        return False

    def _attributes_from_training_rows(self, result: GrownTrees, fit: Fit) -> dict[str, Any]:
        """Return fitted attributes that are computed from the trees and their training rows."""
        return {}

    def _problem(self, fit: Fit) -> GrowthProblem:
        settings = GrowthSettings(**{name: getattr(self, name) for name in GrowthSettings._fields})
        return growth_problem(fit.data, settings, fit.n_threads, fit.monitor.stop_flag)

    def fit_summary(self, noise_rate: float | None = None) -> FitSummary:
        """Return the fit summary. There is no certificate, whatever the noise rate."""
        self._check_is_fitted("trees_")
        summary = growth_summary(self.loss_, self.trees_)
        if hasattr(self, "lambda_"):
            scores = [{"lambda": lam, "accuracy": score} for lam, score in self.tuning_scores_.items()]
            summary |= {"lambda": self.lambda_, "tuning_scores": scores}
        if math.isfinite(getattr(self, "oob_score_", math.nan)):
            summary["oob_score"] = self.oob_score_
        return FitSummary(summary, {}, None)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the mean vote of the leaves of each row of X, (row, class), columns in the order of `classes_`.

        Leaves vote with their class distribution, or, under the loss `gce`, with the prediction that minimizes the
        loss. With a correction, votes use the corrected distribution and the mean is projected onto the simplex.
        """
        self._check_is_fitted("trees_")
        return self.probabilities_of_checked(prediction_rows(self, X))

    def probabilities_of_checked(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return what `predict_proba` does for rows that `prediction_rows` would return as they are."""
        packed = cached_packed_trees(self, self.trees_, self._vote(), rows.dtype)
        votes = packed_votes(rows, packed, thread_count(self.n_jobs))
        return votes if self.correction_ is None else clip_to_simplex(votes)

    def _vote(self) -> Vote:
        return leaf_vote(self.loss_, self.correction_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row; ties go to the class that comes first in `classes_`."""
        winners = self._winners(X)
        labels: NDArray[Any] = self.classes_[winners]
        return labels

    def _winners(self, X: Any) -> NDArray[np.int64]:
        return winning_classes(self.predict_proba(X))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Mean impurity decrease of each feature over the trees, (feature,), normalized to sum 1; all zero if no tree
        has a split.
        """
        self._check_is_fitted("trees_")
        importances_of_trees = [Tree(nodes, self.n_features_in_).compute_feature_importances() for nodes in self.trees_]
        mean = np.mean(importances_of_trees, axis=0)
        importances: NDArray[np.float64] = mean / mean.sum() if mean.sum() > 0 else mean
        return importances
