"""LPBoost (Demiriz, Bennett and Shawe-Taylor 2002, "Linear programming boosting via column generation")."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.boosting.base_learner import BaseLearner
from core.boosting.boosted_classifier import (
    BinaryProblem,
    BoostingResult,
    NumberOfRounds,
    RuleLeaves,
)
from core.boosting.linear_programs.margin_simplex import MarginSimplex
from core.boosting.rule_table import RuleTable, weighted_output_sum
from core.boosting.rules import Rule
from core.boosting.staged import UnstagedBooster
from core.exceptions import SolverFailed
from core.growth.growth_parameters import (
    ClassWeights,
    Jobs,
    LossChoice,
    MaxBins,
    MaxDepth,
    MaxFeatures,
    MinSamplesLeaf,
    RandomState,
)
from core.kernels.simplex.dictionary import LIMIT_REACHED
from core.parameters import Bounds, Help
from core.validation.categories import FROM_DTYPE, CategoricalFeatures

OutlierShare = Annotated[
    float | None,
    Bounds(gt=0, lt=1),
    Help("Share nu of rows whose margin may be below the soft margin. None means the hard margin."),
]
_EDGE_TOLERANCE = 1e-9
#: Tolerance of the duality gap, which exceeds the perturbation of the rows, and its tolerance after a rebuild, because
#: nearly identical rules do not allow better precision.
_MAX_GAP, _MAX_GAP_REBUILT = 2e-9, 1e-8
#: Limit on the pivots of one solve. With two hundred rules, a solve takes hundreds.
_MAX_STEPS = 100_000


class MarginSolution(NamedTuple):
    """Optimum over the rules so far."""

    rule_weights: NDArray[np.float64]  # (rule,), not negative, summing to 1
    row_weights: NDArray[np.float64]  # (row,), summing to 1
    margin: float  # soft margin, which is the largest edge of a rule under the row weights


class MarginProgram:
    """Soft-margin linear program over rules of a table. Its dual finds row weights u that minimize the largest edge:

        minimize  max_j sum_i u_i y_i h_j(x_i)    such that  sum_i u_i = 1,  0 <= u_i <= D_i

    D_i = p_i / nu for a row with the share p_i of the weight, and 1 for the hard margin. The multipliers of the dual
    are the weights of the rules.
    """

    def __init__(
        self,
        table: RuleTable,
        problem: BinaryProblem,
        outlier_share: float | None,
        iteration_limit: int = _MAX_STEPS,
    ) -> None:
        shares = problem.row_shares
        self._table, self._signs = table, problem.signs
        self._limits = np.ones(len(shares)) if outlier_share is None else np.minimum(shares / outlier_share, 1.0)
        self._simplex = MarginSimplex(self._limits)
        self._n_rules = 0
        self._iteration_limit = iteration_limit
        self.solution = MarginSolution(np.empty(0), shares, 0.0)

    def add_rule(self) -> None:
        """Add the next rule of the table."""
        self._simplex.add_rule(self._signs * self._table.row_outputs(self._n_rules))
        self._n_rules += 1

    def solve(self) -> MarginSolution:
        """Return the optimum. Raises SolverFailed with the last optimum before it."""
        steps_left, is_rebuilt = self._iteration_limit, False
        while True:
            outcome = self._simplex.run(steps_left)
            steps_left -= outcome.n_steps
            if outcome.status == LIMIT_REACHED:
                raise SolverFailed("Iteration limit reached", self.solution)
            solution, gap = self._current_solution()
            if gap <= (_MAX_GAP_REBUILT if is_rebuilt else _MAX_GAP):
                self.solution = solution
                return solution
            if is_rebuilt:
                raise SolverFailed("Values not precise", self.solution)
            self._rebuild()
            is_rebuilt = True

    def _current_solution(self) -> tuple[MarginSolution, float]:
        """Return the current solution of the simplex method and its duality gap: the largest edge under its row weights
        minus the soft margin of its rule weights.
        """
        rules = np.arange(self._n_rules)
        rule_weights, row_weights = self._simplex.rule_weights(), self._simplex.row_weights()
        rule_weights, row_weights = rule_weights / rule_weights.sum(), row_weights / row_weights.sum()
        with_weight = np.flatnonzero(row_weights)
        edges = (self._signs[with_weight] * row_weights[with_weight]) @ self._table.outputs_at(rules, with_weight)
        scores = np.empty_like(self._signs)
        self._table.combine(rules, rule_weights, scores)
        best = float(edges.max())
        return MarginSolution(rule_weights, row_weights, best), best - _soft_margin(self._signs * scores, self._limits)

    def _rebuild(self) -> None:
        rules, rows = np.arange(self._n_rules), np.arange(len(self._signs))
        try:
            self._simplex.rebuild(self._signs[:, np.newaxis] * self._table.outputs_at(rules, rows))
        except np.linalg.LinAlgError:
            raise SolverFailed("Singular basis", self.solution) from None


def _soft_margin(margins: NDArray[np.float64], limits: NDArray[np.float64]) -> float:
    """Return the maximum over rho of rho - sum_i D_i max(0, rho - margin_i). It is at the smallest margin up to which
    the D_i sum to 1.
    """
    order = np.argsort(margins, kind="stable")
    place = min(int(np.searchsorted(np.cumsum(limits[order]), 1.0)), len(order) - 1)
    margin = margins[order[place]]
    return float(margin - limits @ np.maximum(margin - margins, 0.0))


class LPBoostClassifier(UnstagedBooster):
    """LPBoost (Demiriz, Bennett and Shawe-Taylor 2002): maximizes the soft margin by linear programming.

    Each round adds a rule and optimizes the weights of all rules. The fit stops when the new rule has no edge above the
    margin (`stop_reason_` "edge"), because no rule of the base learner can then increase the margin.
    """

    def __init__(
        self,
        *,
        n_rounds: NumberOfRounds = 200,
        outlier_share: OutlierShare = 0.1,
        loss: LossChoice = "gini",
        max_leaf_nodes: RuleLeaves = 10,
        max_depth: MaxDepth = None,
        min_samples_leaf: MinSamplesLeaf = 1,
        max_features: MaxFeatures = None,
        max_bins: MaxBins = 256,
        categorical_features: CategoricalFeatures = FROM_DTYPE,
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
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _boost(self, problem: BinaryProblem, learner: BaseLearner) -> BoostingResult:
        table = RuleTable(self.n_rounds, len(problem.signs), self.max_leaf_nodes)
        program = MarginProgram(table, problem, self.outlier_share)
        rules: list[Rule] = []
        failure = None
        try:
            stop_reason = self._add_rules(program, table, rules, problem.signs, learner)
        except SolverFailed as failed:
            stop_reason, failure = "solver_failed", failed
        weights = program.solution.rule_weights
        return BoostingResult(rules[: len(weights)], weights, len(weights), stop_reason, {}, failure)

    def _add_rules(
        self,
        program: MarginProgram,
        table: RuleTable,
        rules: list[Rule],
        signs: NDArray[np.float64],
        learner: BaseLearner,
    ) -> str:
        """Run the rounds and return the reason for stopping. Raises SolverFailed."""
        while len(rules) < self.n_rounds:
            signed_weights = signs * program.solution.row_weights
            grown = learner.grow(signed_weights)
            labels = grown.labels()
            if (
                rules
                and weighted_output_sum(grown.leaves, labels, signed_weights)
                <= program.solution.margin + _EDGE_TOLERANCE
            ):
                return "edge"
            rules.append(grown.rule(labels))
            table.add(grown.leaves, labels)
            program.add_rule()
            program.solve()
        return "n_rounds"

    def _probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (1 + score) / 2. Scores are weighted means of rule outputs, in [-1, 1]."""
        positive = np.clip((1 + scores) / 2, 0.0, 1.0)
        if scores.shape[1] == 1:
            return np.column_stack([1 - positive[:, 0], positive[:, 0]])
        total = positive.sum(axis=1, keepdims=True)
        even = np.full_like(positive, 1 / positive.shape[1])
        return np.asarray(np.divide(positive, total, out=even, where=total > 0))
