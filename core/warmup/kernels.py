"""Compilation of kernels, or loading them from the disk cache, ahead of their first use.

A kernel is compiled once per machine, when it is first called with arguments of new types. This takes a few seconds
for predictions and for each loss, because the growth of trees is compiled for every criterion. A process that only
predicts needs no losses and a fit needs one, so each compiles only what it needs.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.automatic.auto_classifier import AutoClassifier
from core.boosting.linear_programs.minimax_program import MinimaxProgram
from core.boosting.linear_programs.regularized_duals import RegularizedDuals
from core.boosting.lpboost import LPBoostClassifier
from core.boosting.rmboost import RMBoostClassifier
from core.boosting.rule_table import RuleTable
from core.compilation import (
    BINNING,
    KERNEL_RIDGE,
    LINEAR_PROGRAMS,
    PREDICTIONS,
    StepReport,
    growth_step,
    measure_compilation,
    reporting_steps,
)
from core.evaluation.metrics import evaluate
from core.forests.forest import ExtraTreesClassifier, ForestClassifier
from core.forests.tree import TreeClassifier
from core.growth.binning import bin_features
from core.growth.pruning import prune
from core.kernel_ridge.fitting import fit_kernel_ridge
from core.kernel_ridge.model import new_kernel_ridge
from core.kernel_ridge.row_encoding import row_encoding
from core.kernels.growth.tree_nodes import NO_FEATURE, TreeNodes
from core.kernels.row_scans import raise_rows_to_power
from core.kernels.search.search_workspace import new_search_workspace
from core.losses.catalog import LOSSES
from core.losses.parsing import parse_loss
from core.monitoring import FitMonitor, NullMonitor
from core.noise.correction import clip_to_simplex, is_estimated, two_class_correction
from core.registry import AnyClassifier
from core.validation.categories import CategoricalFeatures
from core.validation.training_data import training_data

#: More distinct values than the maximum number of bins, so that binning with merged values is compiled too.
_ROWS = 600

#: Price of a rule in a linear program, below its edge.
_PRICE = 0.1

#: Most categories of a feature whose bin codes have one byte: one code is left for missing values.
_MAX_CATEGORIES_OF_BYTE = 255


def warm_up() -> None:
    """Compile what trees and forests with any loss or correction need.

    Covers depth-first growth with best cuts on bin codes of one byte, and extra trees and boosters with Gini impurity.
    """
    warm_up_predictions()
    for kind in LOSSES:
        warm_up_fit(TreeClassifier(loss=kind))
    warm_up_fit(TreeClassifier(), n_categories=2)
    warm_up_fit(TreeClassifier(correction=two_class_correction({"kind": "backward"})))
    warm_up_fit(ForestClassifier())
    warm_up_fit(ExtraTreesClassifier())
    warm_up_fit(RMBoostClassifier())


def warm_up_predictions() -> None:
    """Compile what predictions of a loaded estimator need, for rows of both float widths."""
    measure_compilation()
    for X in (_rows(), _rows().astype(np.float32)):  # 0.1 is not exact in float32, so that rows of both widths occur
        for tree in (_stump(), _stump(splits_categories=True)):
            tree.predict_proba(X)
            tree.tree_.apply(X)
        _vote_with_ridge(X)


def warm_up_linear_programs() -> None:
    """Compile what minimax boosting needs beside the growth of its trees.

    It is a third of the compilation and independent of the rest, so a second process can do it at the same time.
    """
    measure_compilation()
    labels = np.arange(_ROWS) % 2
    signs: NDArray[np.float64] = np.where(labels == 1, 1.0, -1.0)
    row_shares = np.full(_ROWS, 1.0 / _ROWS)
    table = RuleTable(1, _ROWS, 2)
    table.add(labels.astype(np.uint8), np.array([-1.0, 1.0]))
    program = MinimaxProgram(table, signs, row_shares, _PRICE)
    program.add_rule(0)
    RegularizedDuals(table, signs, row_shares, _PRICE).follow(program.solve().rules)


def warm_up_kernel_ridge() -> None:
    """Compile the fit of the regression that automatic classifiers need beside the growth of their trees."""
    measure_compilation()
    labels = np.arange(_ROWS) % 2
    for X in (_rows(), _rows().astype(np.float32)):
        data = training_data(TreeClassifier(), X, labels, None, None)
        fit_kernel_ridge(data, np.eye(2)[labels], np.arange(2), np.random.default_rng(0))


def warm_up_pruning() -> None:
    """Compile the pruning of trees to the candidates of automatic classifiers."""
    measure_compilation()
    prune(_stump().trees_[0], min_samples_leaf=2)


def warm_up_category_ranking() -> None:
    """Compile the ranking of categories, which the growth of trees with any loss needs beside its own kernel."""
    measure_compilation()
    features = bin_features(_rows()[:, 1:], None, is_categorical=np.ones(1, dtype=np.bool_))
    new_search_workspace(features, _ROWS, 2, random_cuts=False)


def warm_up_fit(estimator: AnyClassifier, n_categories: int = 0, stop_flag: NDArray[np.uint8] | None = None) -> None:
    """Compile what a fit with the parameters of `estimator` and its evaluation need; the estimator is not changed.

    n_categories: categories of the feature that has most of them. Categories need a few kernels beside that of growth,
    which all losses share: their ranking, the sets of the splits, and predictions. More than 255 categories need bin
    codes of two bytes, which are compiled beside those of one byte, because a part of the rows can have fewer
    categories. Two bytes for a numeric feature of 256 values and missing ones, and four bytes for exact bins of more
    than 65,536 values, are rare and are compiled when a fit needs them.

    Raises FitStopped when `stop_flag` (1,), which is read between kernels, is set.
    """
    for one in _with_noise_forest(estimator):
        _warm_up_one(one, n_categories, NullMonitor(stop_flag))


def warm_up_fits(
    estimators: Sequence[AnyClassifier], n_categories: int, stop_flag: NDArray[np.uint8], report: StepReport
) -> None:
    """Compile what fits of all `estimators` need, as `warm_up_fit` does, and report each step that is compiled.

    The steps are those of `compilation_steps`. Kernels that are cached on disk are not reported.
    """
    with reporting_steps(compilation_steps(estimators), report) as begin_fit:
        for one in _fits(estimators):
            begin_fit(_loss_kind(one))
            _warm_up_one(one, n_categories, NullMonitor(stop_flag))


def compilation_steps(estimators: Sequence[AnyClassifier]) -> list[str]:
    """Return the steps in which the kernels of fits of all `estimators` and of their predictions are compiled."""
    fits = list(_fits(estimators))
    growth = dict.fromkeys(growth_step(_loss_kind(one)) for one in fits)
    solves_programs = any(isinstance(one, RMBoostClassifier | LPBoostClassifier) for one in fits)
    fits_ridges = any(isinstance(one, AutoClassifier) for one in fits)
    others = [*([LINEAR_PROGRAMS] if solves_programs else []), *([KERNEL_RIDGE] if fits_ridges else [])]
    return [BINNING, *growth, *others, PREDICTIONS]


def _fits(estimators: Sequence[AnyClassifier]) -> Iterator[AnyClassifier]:
    for estimator in estimators:
        yield from _with_noise_forest(estimator)


def _with_noise_forest(estimator: AnyClassifier) -> Iterator[AnyClassifier]:
    """Yield the forest that estimates the noise for the fit, if it needs one, and the estimator."""
    if is_estimated(estimator.get_params(deep=False).get("correction")):
        # The noise-estimation forest has the same types.
        yield ForestClassifier(categorical_features=estimator.get_params(deep=False)["categorical_features"])
    yield estimator


def _loss_kind(estimator: AnyClassifier) -> str:
    return parse_loss(estimator.get_params(deep=False).get("loss", "gini")).kind


def _warm_up_one(estimator: AnyClassifier, n_categories: int, monitor: FitMonitor) -> None:
    """Compile what the fit of one estimator needs, without that of the forest that estimates the noise."""
    splits_categories = _splits_categories(estimator, n_categories)
    # First what only this fit needs: another process may be compiling what all fits to categories need.
    _warm_up_fit(estimator, _rows(), None, monitor)
    if splits_categories:
        _warm_up_fit(estimator, _rows(), [1], monitor)
    if splits_categories and n_categories > _MAX_CATEGORIES_OF_BYTE:
        _warm_up_fit(estimator, _rows(_MAX_CATEGORIES_OF_BYTE + 1), [1], monitor)


def _splits_categories(estimator: AnyClassifier, n_categories: int) -> bool:
    """Return whether some feature is categorical, by the type of its column or by the parameter of the estimator."""
    selected = estimator.get_params(deep=False)["categorical_features"]
    if isinstance(selected, str):
        return n_categories > 0
    return selected is not None and any(one is not False for one in np.ravel(np.array(selected, dtype=object)))


def _warm_up_fit(
    estimator: AnyClassifier, X: NDArray[np.float64], categorical_features: CategoricalFeatures, monitor: FitMonitor
) -> None:
    """Compile what a fit to X needs."""
    small_values: dict[str, Any] = {
        "max_depth": 2,
        "max_features": None,  # so that some split is one of categories, if a feature is categorical
        "class_weight": None,
        "random_state": 0,
        "n_estimators": 2,
        "n_rounds": 2,
        "n_fits": 2,  # the first two candidates need all kernels of the search
        "time_budget": None,
        "regularization": None,
        "oob_score": False,
        "categorical_features": categorical_features,
    }
    parameters = estimator.get_params(deep=False)
    small_values["correction"] = two_class_correction(parameters.get("correction"))
    small = type(estimator)(
        **{**parameters, **{name: small_values[name] for name in small_values.keys() & parameters.keys()}}
    )
    y = np.arange(_ROWS) % 2
    small.fit(X, y, monitor=monitor)
    if isinstance(small, AutoClassifier):  # whether its regression votes depends on the data
        _vote_with_ridge(X)
    evaluate(small, X, y)


def _rows(n_codes: int = 4) -> NDArray[np.float64]:
    """Return a feature with many values and one with `n_codes` values, each with one missing value, (row, feature)."""
    X = np.column_stack([np.arange(_ROWS) + 0.1, np.arange(_ROWS) % n_codes])
    X[0] = np.nan
    return X


def _vote_with_ridge(X: NDArray[Any]) -> None:
    """Mix the scores of a regression with one landmark, made without a fit, into votes."""
    encoding = row_encoding(_rows(), np.zeros(2, dtype=np.bool_), np.arange(2))
    ridge = new_kernel_ridge(encoding, np.zeros((2, 1), dtype=np.float32), np.zeros((2, 1)), np.full(2, 0.5), 1.0)
    votes = np.full((len(X), 2), 0.5)
    ridge.mix_into(votes, X, 0.5)
    clip_to_simplex(votes)
    raise_rows_to_power(votes, 0.1, 1.0)


def _stump(splits_categories: bool = False) -> TreeClassifier:
    """Return a fitted tree of one split, made without a growth kernel."""
    stump: Any = TreeClassifier()
    nodes = TreeNodes(
        feature=np.array([0, NO_FEATURE, NO_FEATURE], dtype=np.int32),
        link=np.array([2, 0, 2], dtype=np.int32),
        threshold=np.array([np.nan if splits_categories else 0.5, 0.0, 0.0]),
        missing_go_to_left=np.zeros(3, dtype=np.uint8),
        impurity=np.zeros(3),
        n_node_samples=np.array([5, 1, 4], dtype=np.int32),
        weighted_n_node_samples=np.array([5.0, 1.0, 4.0]),
        impure_distributions=np.array([[0.25, 0.75]]),
        category_nodes=np.zeros(int(splits_categories), dtype=np.int32),
        category_set_sizes=np.ones(int(splits_categories), dtype=np.int32),
        category_blocks=np.ones(int(splits_categories), dtype=np.uint64),
    )
    stump.trees_ = (nodes,)
    stump.classes_, stump.loss_, stump.n_features_in_ = np.arange(2), parse_loss("gini"), 2
    fitted: TreeClassifier = stump
    return fitted
