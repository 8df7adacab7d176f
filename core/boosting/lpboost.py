"""LPBoost (Demiriz, Bennett and Shawe-Taylor 2002, "Linear programming boosting via column generation")."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.boosting.base_learner import BaseLearner
from core.boosting.boosted_classifier import BinaryProblem, Boosted, BoostedClassifier, LeavesOfRule, NumberOfRounds
from core.boosting.linear_programs.margin_simplex import MarginSimplex
from core.boosting.rule_table import RuleTable, average_output
from core.boosting.rules import Rule
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

OutlierShare = Annotated[
    float | None,
    Bounds(gt=0, lt=1),
    Help("Share of rows that may fall short of the margin, nu. None = none: the hard margin."),
]
_EDGE_TOLERANCE = 1e-9
#: How far a margin may be from the largest, more than rows are raised by; and where values were computed anew, as rules
#: that are nearly alike allow no better.
_MOST_GAP, _MOST_GAP_ANEW = 2e-9, 1e-8
#: Steps in a solve; rounds of two hundred rules take hundreds.
_MOST_STEPS = 100_000


class MarginSolution(NamedTuple):
    """An optimum over the rules so far."""

    rule_weights: NDArray[np.float64]  # (rule,), not negative, summing to 1
    row_weights: NDArray[np.float64]  # (row,), summing to 1
    margin: float  # the largest edge of a rule under the row weights: the soft margin


class MarginProgram:
    """The soft-margin program over rules of a table. Its dual: row weights u that leave the best rule the least edge.

        minimise  max_j sum_i u_i y_i h_j(x_i)    such that  sum_i u_i = 1,  0 <= u_i <= D_i

    D_i = p_i / nu for rows of share p_i, and 1 for the hard margin. The rules' weights are its multipliers.
    """

    def __init__(
        self,
        table: RuleTable,
        problem: BinaryProblem,
        outlier_share: float | None,
        iteration_limit: int = _MOST_STEPS,
    ) -> None:
        shares = problem.shares
        self._table, self._signs = table, problem.signs
        self._limits = np.ones(len(shares)) if outlier_share is None else np.minimum(shares / outlier_share, 1.0)
        self._simplex = MarginSimplex(self._limits)
        self._n_rules = 0
        self._iteration_limit = iteration_limit
        self.solution = MarginSolution(np.empty(0), shares, 0.0)

    def add_rule(self) -> None:
        """Take in the next rule of the table."""
        self._simplex.add_rule(self._signs * self._table.outputs_of(self._n_rules))
        self._n_rules += 1

    def solve(self) -> MarginSolution:
        """The optimum. Raises SolverFailed, which holds the last optimum before."""
        steps_left, is_new = self._iteration_limit, False
        while True:
            outcome = self._simplex.run(steps_left)
            steps_left -= outcome.n_steps
            if outcome.status == LIMIT_REACHED:
                raise SolverFailed("Iteration limit reached", self.solution)
            found, gap = self._found()
            if gap <= (_MOST_GAP_ANEW if is_new else _MOST_GAP):
                self.solution = found
                return found
            if is_new:
                raise SolverFailed("Values not precise", self.solution)
            self._compute_anew()
            is_new = True

    def _found(self) -> tuple[MarginSolution, float]:
        """What the simplex method arrived at, and how far it may be from the optimum: the edge that its row weights
        leave to the best rule, less the soft margin of its rule weights.
        """
        rules = np.arange(self._n_rules)
        rule_weights, row_weights = self._simplex.rule_weights(), self._simplex.row_weights()
        rule_weights, row_weights = rule_weights / rule_weights.sum(), row_weights / row_weights.sum()
        weighed = np.flatnonzero(row_weights)
        edges = (self._signs[weighed] * row_weights[weighed]) @ self._table.outputs_at(rules, weighed)
        scores = np.empty_like(self._signs)
        self._table.combine(rules, rule_weights, scores)
        best = float(edges.max())
        return MarginSolution(rule_weights, row_weights, best), best - _soft_margin(self._signs * scores, self._limits)

    def _compute_anew(self) -> None:
        rules, rows = np.arange(self._n_rules), np.arange(len(self._signs))
        try:
            self._simplex.rebuild(self._signs[:, np.newaxis] * self._table.outputs_at(rules, rows))
        except np.linalg.LinAlgError:
            raise SolverFailed("Singular basis", self.solution) from None


def _soft_margin(margins: NDArray[np.float64], limits: NDArray[np.float64]) -> float:
    """The largest of rho - sum_i D_i max(0, rho - margin_i): at the least margin up to which the D_i sum to 1."""
    order = np.argsort(margins, kind="stable")
    place = min(int(np.searchsorted(np.cumsum(limits[order]), 1.0)), len(order) - 1)
    margin = margins[order[place]]
    return float(margin - limits @ np.maximum(margin - margins, 0.0))


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
        table = RuleTable(self.n_rounds, len(problem.signs), self.max_leaf_nodes)
        program = MarginProgram(table, problem, self.outlier_share)
        rules: list[Rule] = []
        failure = None
        try:
            stop_reason = self._add_rules(program, table, rules, problem.signs, learner)
        except SolverFailed as failed:
            stop_reason, failure = "solver_failed", failed
        weights = program.solution.rule_weights
        return Boosted(rules[: len(weights)], weights, len(weights), stop_reason, {}, failure)

    def _add_rules(
        self,
        program: MarginProgram,
        table: RuleTable,
        rules: list[Rule],
        signs: NDArray[np.float64],
        learner: BaseLearner,
    ) -> str:
        """Round after round; says why the last one was. Raises SolverFailed."""
        while len(rules) < self.n_rounds:
            signed = signs * program.solution.row_weights
            grown = learner.grow(signed)
            labels = grown.labels()
            if rules and average_output(grown.leaves, labels, signed) <= program.solution.margin + _EDGE_TOLERANCE:
                return "edge"
            rules.append(grown.rule(labels))
            table.add(grown.leaves, labels)
            program.add_rule()
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
