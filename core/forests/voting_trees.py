"""Base of the classifiers whose trees vote: prediction from fitted trees, however they were grown."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.class_votes import winning_classes
from core.growth.growing import thread_count
from core.growth.tree_structure import Trees, mean_importances
from core.growth.voting import Vote, cached_packed_trees, packed_votes
from core.losses.base import Loss
from core.noise.correction import CorrectedLabels, clip_to_simplex, leaf_vote
from core.sklearn_protocols.classifier_contract import ClassifierContract
from core.validation.categories import CategoryValues
from core.validation.training_data import prediction_rows


class VotingTrees(ClassifierContract):
    """Prediction of classifiers whose class probabilities are the mean vote of trees."""

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    loss_: Loss
    trees_: Trees
    schema_: dict[str, Any] | None
    is_categorical_: NDArray[np.bool_] | None = None
    category_values_: CategoryValues = ()
    n_categories_: NDArray[np.int64] | None = None
    correction_: CorrectedLabels | None = None

    n_jobs: int | None

    def _share_fit_with(self, other: "VotingTrees", trees: Trees) -> None:
        """Give another classifier some of the trees, and what predictions need beside them."""
        other.trees_, other.loss_, other.correction_ = trees, self.loss_, self.correction_
        other.classes_, other.n_features_in_, other.columns_ = self.classes_, self.n_features_in_, self.columns_
        other.is_categorical_, other.category_values_ = self.is_categorical_, self.category_values_
        other.n_categories_ = self.n_categories_
        if hasattr(self, "feature_names_in_"):
            other.feature_names_in_ = self.feature_names_in_

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

    def _winners(self, X: Any) -> NDArray[np.int64]:
        return winning_classes(self.predict_proba(X))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Mean impurity decrease of each feature over the trees, (feature,), normalized to sum 1; all zero if no tree
        has a split.
        """
        self._check_is_fitted("trees_")
        mean = mean_importances(self.trees_, self.n_features_in_)
        importances: NDArray[np.float64] = mean / mean.sum() if mean.sum() > 0 else mean
        return importances
