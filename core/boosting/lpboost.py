"""LPBoost (Demiriz, Bennett and Shawe-Taylor 2002, "Linear programming boosting via column generation")."""

from typing import Annotated, Any, NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray

from core.boosting.base_learner import BaseLearner
from core.boosting.boosted_classifier import BinaryProblem, Boosted, BoostedClassifier, LeavesOfRule, NumberOfRounds
from core.boosting.rules import Rule
from core.boosting.solver import new_solver, run_to_optimum
from core.exceptions import SolverFailed
from core.growth_parameters import (
    ClassWeights,
    Jobs,
    LossChoice,
    MaxBins,
    MaxDepth,
    MaxFeatures,
    MinSamplesLeaf,
    RandomState,
)
from core.parameters import Bounds, Help

OutlierShare = Annotated[
    float | None,
    Bounds(gt=0, lt=1),
    Help("Share of rows that may fall short of the margin, nu. None = none: the hard margin."),
]
_EDGE_TOLERANCE = 1e-9


class MarginSolution(NamedTuple):
    """An optimum over the rules so far."""

    rule_weights: NDArray[np.float64]  # (rule,), not negative, summing to 1
    row_weights: NDArray[np.float64]  # (row,), summing to 1
    margin: float  # the largest edge of a rule under the row weights: the soft margin


class MarginProgram:
    """The dual of the soft-margin program: the row weights u that leave the best rule the least edge.

        minimise  beta    such that  sum_i u_i y_i h_j(x_i) <= beta for every rule j,  sum_i u_i = 1,  0 <= u_i <= D_i

    D_i = p_i / nu for rows of share p_i, and 1 for the hard margin. The rules' weights are its multipliers.
    """

    def __init__(self, problem: BinaryProblem, outlier_share: float | None) -> None:
        n_rows = len(problem.signs)
        limits = np.ones(n_rows) if outlier_share is None else np.minimum(problem.shares / outlier_share, 1.0)
        self._signs = problem.signs
        self._solver: Any = new_solver()
        nothing = np.empty(0, dtype=np.int32)
        self._solver.addCols(
            n_rows, np.zeros(n_rows), np.zeros(n_rows), limits, 0, nothing, nothing, np.empty(0, dtype=np.float64)
        )
        self._solver.addCol(1.0, -highspy.kHighsInf, highspy.kHighsInf, 0, nothing, np.empty(0))
        self._solver.addRow(1.0, 1.0, n_rows, np.arange(n_rows, dtype=np.int32), np.ones(n_rows))
        self.solution = MarginSolution(np.empty(0), problem.shares, 0.0)

    def add_rule(self, outputs: NDArray[np.float64]) -> None:
        """Add the row of a rule that says `outputs` (row,)."""
        entries = np.append(self._signs * outputs, -1.0)
        places = np.arange(len(entries), dtype=np.int32)
        self._solver.addRow(-highspy.kHighsInf, 0.0, len(entries), places, entries)

    def solve(self) -> MarginSolution:
        """The optimum. Raises SolverFailed, which holds the last optimum before."""
        run_to_optimum(self._solver, self.solution)
        found = self._solver.getSolution()
        row_weights = np.maximum(np.array(found.col_value)[:-1], 0.0)
        rule_weights = np.maximum(-np.array(found.row_dual)[1:], 0.0)
        self.solution = MarginSolution(rule_weights, row_weights, self._solver.getInfo().objective_function_value)
        return self.solution


class LPBoostClassifier(BoostedClassifier):
    """LPBoost: all rules' weights are found anew in each round, so that the (soft) margin is as large as they allow.

    It stops when no rule has an edge above the margin ("edge"): then no rule of the base learner would widen it.
    """

    def __init__(
        self,
        *,
        n_rounds: NumberOfRounds = 200,
        outlier_share: OutlierShare = 0.1,
        loss: LossChoice = "gini",
        max_leaf_nodes: LeavesOfRule = 10,
        max_depth: MaxDepth = None,
        min_samples_leaf: MinSamplesLeaf = 1,
        max_features: MaxFeatures = None,
        max_bins: MaxBins = 256,
        class_weight: ClassWeights = None,
        random_state: RandomState = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.outlier_share = outlier_share
        self.loss = loss
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_bins = max_bins
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _boost(self, problem: BinaryProblem, learner: BaseLearner) -> Boosted:
        program = MarginProgram(problem, self.outlier_share)
        rules: list[Rule] = []
        failure = None
        try:
            stop_reason = self._add_rules(program, rules, problem.signs, learner)
        except SolverFailed as failed:
            stop_reason, failure = "solver_failed", failed
        weights = program.solution.rule_weights
        return Boosted(rules[: len(weights)], weights, len(weights), stop_reason, {}, failure)

    def _add_rules(
        self, program: MarginProgram, rules: list[Rule], signs: NDArray[np.float64], learner: BaseLearner
    ) -> str:
        """Round after round; says why the last one was. Raises SolverFailed."""
        while len(rules) < self.n_rounds:
            signed = signs * program.solution.row_weights
            grown = learner.grow(signed)
            outputs = grown.labels()[grown.leaves]
            if rules and signed @ outputs <= program.solution.margin + _EDGE_TOLERANCE:
                return "edge"
            rules.append(grown.rule(grown.labels()))
            program.add_rule(outputs)
            program.solve()
        return "n_rounds"

    def _probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """(1 + score) / 2: scores are averages of what rules say, in [-1, 1]."""
        positive = np.clip((1 + scores) / 2, 0.0, 1.0)
        if scores.shape[1] == 1:
            return np.column_stack([1 - positive[:, 0], positive[:, 0]])
        total = positive.sum(axis=1, keepdims=True)
        even = np.full_like(positive, 1 / positive.shape[1])
        return np.asarray(np.divide(positive, total, out=even, where=total > 0))
