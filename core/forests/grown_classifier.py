"""Base class of trees and forests: parameters, the fit from raw rows to trees, and prediction."""

import math
from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core.compilation import announce_compilation
from core.fit_summary import FitSummary, growth_summary
from core.forests.fitting import Fit, Grower, GrownTrees
from core.forests.noise_estimation_forest import ESTIMATING, N_TREES, estimate_noise
from core.forests.tuning import LossStrategy, loss_strategy
from core.forests.voting_trees import VotingTrees
from core.growth.growing import thread_count
from core.growth.growth_problem import GrowthProblem, GrowthSettings, growth_problem
from core.growth.tree_structure import Trees, rescale_node_weights
from core.kernels.criteria.catalog import Criterion
from core.losses.parsing import parse_loss
from core.monitoring import FitMonitor, NullMonitor, Progress
from core.noise.correction import CorrectedLabels, Correction, check_class_weights, parse_correction
from core.noise.estimation import TransitionEstimate
from core.randomness import Seed, SeedTree
from core.sklearn_protocols.failed_fit import undone_if_it_fails
from core.validation.training_data import TrainingData, class_weight_per_class, training_data


class GrownClassifier(VotingTrees):
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

    lambda_: float
    tuning_scores_: dict[float, float]
    oob_score_: float
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

    @undone_if_it_fails
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
        self._check_parameters()
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
