"""What tree and forest share: parameters, the fit from raw rows to stored arrays, and prediction."""

import math
from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from core.classifier_contract import ClassifierContract
from core.exceptions import InvalidLoss
from core.fit_summary import FitSummary, growth_summary
from core.forests.noise_estimation_forest import ESTIMATING, JUDGES, estimated_noise
from core.forests.tuning import Selection, by_holdout, by_out_of_bag, choose_lambda
from core.growth.binning import bin_features
from core.growth.growing import GrowthProblem, Rooms, thread_count
from core.growth.growth_parameters import feature_count
from core.growth.out_of_bag import Bootstrap
from core.growth.tree_structure import Tree, Trees, weigh_in
from core.growth.voting import Vote, packed_of, packed_votes
from core.holdout import held_out_rows
from core.kernels.criteria.catalogue import Criterion
from core.kernels.growth.nodes import GrowthLimits
from core.kernels.search.splitting import SearchLimits
from core.losses.base import Loss
from core.losses.catalogue import AdaptiveNegativeExponential, NegativeExponential
from core.losses.parsing import parse_loss
from core.monitoring import FitMonitor, NullMonitor, Progress
from core.noise.correction import (
    CorrectedLabels,
    Correction,
    check_class_weights,
    on_simplex,
    parse_correction,
    vote_of,
)
from core.noise.estimation import TransitionEstimate
from core.parameters import parameters_of
from core.randomness import Purpose, Seed, SeedTree
from core.validation.training_data import TrainingData, class_weight_per_class, prediction_rows, training_data


class GrowingFit(NamedTuple):
    """What one fit works with from its start to its end; the bins are needed for growth alone."""

    data: TrainingData
    seeds: SeedTree
    monitor: FitMonitor
    correction: CorrectedLabels | None


class _Corrected(NamedTuple):
    """What a fit corrects its labels by, and fitted attributes found on the way there."""

    labels: CorrectedLabels | None
    found: dict[str, Any]


class Grown(NamedTuple):
    """What a fit came to: the loss that grew the trees, the trees, and fitted attributes found on the way."""

    loss: Loss
    trees: Trees
    found: dict[str, Any]


class GrownClassifier(ClassifierContract):
    """Base of the classifiers made of grown trees.

    Fitted attributes: `classes_`, `n_features_in_`, `feature_names_in_` (when X had names), `loss_` (the loss that
    grew the trees), `trees_` (Trees), with an adaptive loss `lambda_` and `tuning_scores_`, and with a correction
    `correction_` (None without), and `noise_estimate_` (TransitionEstimate) where its matrix was estimated, which an
    artefact does not keep. Trees record the distributions of observed labels; votes are corrected.
    """

    #: Fitted attributes that another fit may not have.
    _SOMETIMES_FITTED = ("lambda_", "tuning_scores_", "oob_score_", "oob_decision_function_", "noise_estimate_")

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    loss_: Loss
    trees_: Trees
    lambda_: float
    tuning_scores_: dict[float, float]
    oob_score_: float
    schema_: dict[str, Any] | None
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
    ) -> Trees:
        """Grow all trees on the rows of positive weight."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, monitor: FitMonitor | None = None) -> Self:
        """Grow on X (row, feature), NaN = missing, and labels y (row,); `sample_weight` (row,) is not negative.

        Raises InvalidParameter, InvalidInput, and FitStopped when `monitor` asks for it.
        """
        loss = self._checked_loss()
        correction = parse_correction(self.correction, loss)
        data = training_data(self, X, y, sample_weight, self.class_weight)
        fit = GrowingFit(data, SeedTree(self.random_state), monitor or NullMonitor(), None)
        corrected = self._corrected(correction, fit)
        fit = fit._replace(correction=corrected.labels)
        grown = self._grown(loss, self._problem(data), fit)
        found = {**corrected.found, **grown.found, **self._found_beside(grown, fit)}
        self._replace_found(found)
        weigh_in(data.weight_unit, grown.trees)
        self.trees_ = grown.trees
        self.loss_ = grown.loss
        self.correction_ = fit.correction
        self.classes_ = data.labels.classes
        return self

    def phases(self) -> dict[str, int]:
        """What a monitor of `fit` will hear of: the phases in their order, and how many trees each grows.

        Raises InvalidParameter for what `fit` would refuse before it has seen data.
        """
        loss = self._checked_loss()
        correction = parse_correction(self.correction, loss)
        phases = {ESTIMATING: JUDGES} if correction and correction.transition is None else {}
        if isinstance(loss, AdaptiveNegativeExponential):
            phases["tuning"] = len(loss.grid) * self._n_trees()
            if self._selects_out_of_bag(loss):
                return phases
        return {**phases, "growing": self._n_trees()}

    def _checked_loss(self) -> Loss:
        """The loss, once it and all parameters are found good. Raises InvalidParameter."""
        for parameter in parameters_of(type(self)):
            parameter.check(getattr(self, parameter.argument), type(self).__name__)
        loss = parse_loss(self.loss)
        if isinstance(loss, AdaptiveNegativeExponential) and loss.selection == "out_of_bag" and not self._bootstraps():
            raise InvalidLoss(
                f'selection of loss {loss.kind!r} is "out_of_bag", and this {type(self).__name__} draws no bootstrap '
                'samples that could leave rows out; choose "auto" or "holdout", or a forest with bootstrap=True.'
            )
        return loss

    def _corrected(self, correction: Correction | None, fit: GrowingFit) -> _Corrected:
        if correction is None:
            return _Corrected(None, {})
        given = fit.data.labels._replace(codes=fit.data.input_rows.codes)
        weights = class_weight_per_class(given, self.class_weight)
        check_class_weights(given.classes, weights)
        if correction.transition is not None:
            return _Corrected(correction.labels_for(given.classes, weights), {})
        noise = estimated_noise(fit.data, fit.seeds, thread_count(self.n_jobs), fit.monitor)
        by_estimate = correction.by_estimate(noise.transition)
        return _Corrected(by_estimate.labels_for(given.classes, weights), {"noise_estimate_": noise})

    def _replace_found(self, found: dict[str, Any]) -> None:
        """Set what this fit found, and forget what only an earlier one did."""
        for name in self._SOMETIMES_FITTED:
            if hasattr(self, name):
                delattr(self, name)
        for name, value in found.items():
            setattr(self, name, value)

    def _bootstraps(self) -> bool:
        """Whether each tree grows on a sample that leaves rows out."""
        return False

    def _selects_out_of_bag(self, loss: AdaptiveNegativeExponential) -> bool:
        return loss.selection != "holdout" and self._bootstraps()

    def _found_beside(self, grown: Grown, fit: GrowingFit) -> dict[str, Any]:
        """Fitted attributes that come from grown trees and their training rows."""
        return {}

    def _problem(self, data: TrainingData) -> GrowthProblem:
        limits = GrowthLimits(
            max_depth=np.iinfo(np.int64).max if self.max_depth is None else int(self.max_depth),
            max_leaf_nodes=int(self.max_leaf_nodes or 0),
            min_risk_decrease=float(self.min_risk_decrease),
            search=SearchLimits(
                max_features=feature_count(self.max_features, data.X.shape[1]),
                min_samples_leaf=int(self.min_samples_leaf),
                random_cuts=self.splitter == "random",
            ),
        )
        features = bin_features(data.X, self.max_bins, thread_count(self.n_jobs))
        return GrowthProblem(features, data.labels.codes.astype(np.uint16), len(data.labels.classes), limits, Rooms())

    def _grown(self, loss: Loss, problem: GrowthProblem, fit: GrowingFit) -> Grown:
        if isinstance(loss, AdaptiveNegativeExponential):
            return self._tuned(loss, problem, fit)
        return self._plain(loss, problem, fit)

    def _plain(self, loss: Loss, problem: GrowthProblem, fit: GrowingFit) -> Grown:
        """Trees grown on all rows with one loss."""
        progress = Progress(fit.monitor, "growing", self._n_trees())
        loss.check_class_count(problem.n_classes)
        if fit.correction is not None and fit.correction.kind == "backward":
            criterion: Criterion = fit.correction.criterion()
        else:
            criterion = loss.criterion(problem.n_classes, fit.data.weight_unit)
        return Grown(loss, self._grow(problem, fit.data.weights, criterion, fit.seeds, progress), {})

    def _tuned(self, loss: AdaptiveNegativeExponential, problem: GrowthProblem, fit: GrowingFit) -> Grown:
        """Trees grown on all rows with the best lambda; finds `lambda_` and `tuning_scores_`.

        Candidates are judged by labels as noisy as those they grew on, and so without the correction.
        """
        progress = Progress(fit.monitor, "tuning", len(loss.grid) * self._n_trees())

        def grow_on(candidate: Loss, weights: NDArray[np.float64]) -> Trees:
            criterion = candidate.criterion(problem.n_classes, fit.data.weight_unit)
            return self._grow(problem, weights, criterion, fit.seeds, progress)

        tuned = choose_lambda(loss, grow_on, self._selection(loss, fit))
        chosen = NegativeExponential(tuned.lambda_)
        trees = tuned.trees or self._plain(chosen, problem, fit).trees
        return Grown(chosen, trees, {"lambda_": tuned.lambda_, "tuning_scores_": tuned.scores})

    def _selection(self, loss: AdaptiveNegativeExponential, fit: GrowingFit) -> Selection:
        data, codes = fit.data, fit.data.labels.codes
        if self._selects_out_of_bag(loss):
            bootstrap = Bootstrap(data.weights, fit.seeds.kernel_states(self._n_trees()))
            return by_out_of_bag(data.X, codes, bootstrap, thread_count(self.n_jobs), fit.monitor.stop_flag)
        generator = fit.seeds.generator(Purpose.HOLDOUT)
        held_out = held_out_rows(codes, loss.validation_fraction, True, generator).test_rows
        return by_holdout(data.X, codes, data.weights, held_out)

    def fit_summary(self, noise_rate: float | None = None) -> FitSummary:
        """What the fit found out. It guarantees nothing, whatever share of the training labels is wrong."""
        self._check_is_fitted("trees_")
        facts = growth_summary(self.loss_, self.trees_)
        if hasattr(self, "lambda_"):
            scores = [{"lambda": lam, "accuracy": score} for lam, score in self.tuning_scores_.items()]
            facts |= {"lambda": self.lambda_, "tuning_scores": scores}
        if math.isfinite(getattr(self, "oob_score_", math.nan)):
            facts["oob_score"] = self.oob_score_
        return FitSummary(facts, {}, None)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Mean vote of the rows' leaves, (row, class), columns in the order of `classes_`. Leaves vote with their class
        distribution, but under `gce` with the prediction that the loss makes of it. With a correction they vote with
        the corrected one, and the mean is cut to the simplex.
        """
        self._check_is_fitted("trees_")
        rows = prediction_rows(self, X)
        packed = packed_of(self, self.trees_, self._vote(), rows.dtype)
        votes = packed_votes(rows, packed, thread_count(self.n_jobs))
        return votes if self.correction_ is None else on_simplex(votes)

    def _vote(self) -> Vote:
        return vote_of(self.loss_, self.correction_)

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
        self._check_is_fitted("trees_")
        shares = [Tree(nodes, self.n_features_in_).compute_feature_importances() for nodes in self.trees_]
        mean = np.mean(shares, axis=0)
        importances: NDArray[np.float64] = mean / mean.sum() if mean.sum() > 0 else mean
        return importances
