"""Rounds of robust minimax boosting: rule, linear program, row weights (Mazuelas and Alvarez 2025, Algorithm 1).

Steps 14 to 16, which drop rules, differ from the printed ones. A rule is dropped if |sum_i w_i ytilde_i h(x_i)| <
lambda, with the absolute value, and only after R has strictly decreased. As printed, rules with negative weight would
be dropped and R could increase. If R stays constant, as often happens with rules whose outputs are -1 or 1, the same
rules could be added and dropped forever.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.boosting.base_learner import BaseLearner, GrownRule, resample
from core.boosting.boosted_classifier import BinaryProblem
from core.boosting.linear_programs.minimax_program import MARGIN_TOLERANCE, MinimaxProgram
from core.boosting.linear_programs.regularized_duals import RegularizedDuals
from core.boosting.rule_table import RuleTable, weighted_output_sum
from core.boosting.rules import Rule
from core.exceptions import SolverFailed
from core.kernels.simplex.regularized_duals import MARGIN_LIMIT

#: Assumed limit on the L1 norm of the weights with further rules: twice the current norm, and at least 1, because
#: margins reach their limits only if the norm is at least 1/2.
_NORM_GROWTH, _MIN_NORM = 2.0, 1.0
#: Rounding error of edges, which are sums of weights with a total of at most 1.
_EDGE_ROUNDING = 1e-14


class RoundLimits(NamedTuple):
    """Options of the rounds."""

    n_rounds: int
    n_leaves: int
    regularization: float  # lambda
    resamples: bool
    drops_rules: bool
    uses_regularized_duals: bool
    tolerance: float  # of R, with regularized duals


class MinimaxRounds(NamedTuple):
    """Result of the rounds."""

    rules: list[Rule]
    weights: NDArray[np.float64]  # (rule,)
    minimax_risk: float
    risk_path: NDArray[np.float64]  # (round,), R after each
    stop_reason: str  # "edge", "n_rounds" or "solver_failed"
    failure: SolverFailed | None


class _Rounds:
    """State of Algorithm 1. `leaf_outputs` returns the outputs of the leaves of a tree, (leaf,) in [-1, 1]."""

    def __init__(
        self,
        problem: BinaryProblem,
        learner: BaseLearner,
        limits: RoundLimits,
        leaf_outputs: Callable[[GrownRule], NDArray[np.float64]],
    ) -> None:
        self._problem, self._learner, self._limits, self._leaf_outputs = problem, learner, limits, leaf_outputs
        self._table = RuleTable(limits.n_rounds, len(problem.signs), limits.n_leaves)
        self._program = MinimaxProgram(self._table, problem.signs, problem.row_shares, limits.regularization)
        self._duals = RegularizedDuals(self._table, problem.signs, problem.row_shares, limits.regularization)
        self._rules: list[Rule] = []
        self._risk_path: list[float] = []
        self._last_edge = 0.0  # of the rule grown last

    def run(self) -> MinimaxRounds:
        try:
            return self._result(self._boost(), None)
        except SolverFailed as failure:
            return self._result("solver_failed", failure)

    def _boost(self) -> str:
        """Run the rounds and return the reason for stopping."""
        while len(self._rules) < self._limits.n_rounds:
            if not self._add_rule():
                return "edge"
            self._risk_path.append(min(self._program.solve().minimax_risk, self._earlier_risk(1)))
            if self._limits.drops_rules:
                self._drop_slack_rules()
            if self._limits.uses_regularized_duals:
                self._duals.follow(self._program.solution.rules)
        return "n_rounds"

    def _result(self, stop_reason: str, failure: SolverFailed | None) -> MinimaxRounds:
        solution = self._program.solution
        kept = [self._rules[rule] for rule in solution.rules]
        path = np.array(self._risk_path)
        return MinimaxRounds(kept, solution.rule_weights, solution.minimax_risk, path, stop_reason, failure)

    def _add_rule(self) -> bool:
        """Add a rule with an edge above lambda and return whether one was found.

        The regularized duals are tried first, then the duals of the solver, unless the regularized duals show that R is
        within the tolerance of its lower bound.
        """
        if not (self._limits.uses_regularized_duals and self._rules):
            return self._add_rule_on(self._program.signed_weights(), self._limits.regularization)
        # Edges of rules in the program can exceed lambda by the violation of the duals.
        min_edge = self._limits.regularization + min(self._duals.violation, self._limits.regularization)
        if self._add_rule_on(self._duals.signed_weights(), min_edge):
            return True
        weight_norm = max(_MIN_NORM, _NORM_GROWTH * float(np.abs(self._program.solution.rule_weights).sum()))
        bound = self._duals.lower_bound(self._last_edge, weight_norm)
        if self._program.solution.minimax_risk - bound <= self._limits.tolerance:
            return False
        return self._add_rule_on(self._program.signed_weights(), self._limits.regularization, replaces_last=True)

    def _add_rule_on(self, signed_weights: NDArray[np.float64], min_edge: float, replaces_last: bool = False) -> bool:
        """Grow a rule on w_i ytilde_i of (19), (row,), and add it if it is new and its edge exceeds `min_edge`."""
        sampled = resample(signed_weights, self._problem.generator) if self._limits.resamples else signed_weights
        grown = self._learner.grow(sampled, replaces_last)
        outputs = self._leaf_outputs(grown)
        self._last_edge = weighted_output_sum(grown.leaves, outputs, signed_weights)
        is_kept = self._last_edge > min_edge + _EDGE_ROUNDING and not self._is_in_program(grown.leaves, outputs)
        if is_kept:
            self._table.add(grown.leaves, outputs)
            self._rules.append(grown.rule(outputs))
            self._program.add_rule(len(self._rules) - 1)
        return is_kept

    def _is_in_program(self, leaves: NDArray[np.uint8], outputs: NDArray[np.float64]) -> bool:
        """Return whether the program has a rule with the same outputs; a second copy would not lower R."""
        return any(self._table.has_rule(rule, leaves, outputs) for rule in self._program.solution.rules.tolist())

    def _earlier_risk(self, n_rounds_ago: int) -> float:
        return self._risk_path[-n_rounds_ago] if len(self._risk_path) >= n_rounds_ago else MARGIN_LIMIT

    def _drop_slack_rules(self) -> None:
        if self._earlier_risk(1) >= self._earlier_risk(2) - MARGIN_TOLERANCE:
            return
        slack = np.abs(self._program.edges()) < self._limits.regularization - MARGIN_TOLERANCE
        if slack.any():
            self._program.drop_rules(slack)


def run_rounds(
    problem: BinaryProblem,
    learner: BaseLearner,
    limits: RoundLimits,
    leaf_outputs: Callable[[GrownRule], NDArray[np.float64]],
) -> MinimaxRounds:
    """Run Algorithm 1. `leaf_outputs` returns the outputs of the leaves of a tree, (leaf,) in [-1, 1].

    Raises FitStopped. If the solver fails, the rounds end with the last optimum as the result.
    """
    return _Rounds(problem, learner, limits, leaf_outputs).run()
