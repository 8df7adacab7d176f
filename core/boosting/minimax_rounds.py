"""The rounds of robust minimax boosting: rule -> linear program -> weights (Mazuelas and Alvarez 2025, Algorithm 1).

Steps 14 to 16, which drop rules, are not as printed: a rule goes when |sum_i w_i ytilde_i h(x_i)| < lambda, with the
absolute value, and only after R strictly fell. As printed, rules of negative weight would go and R could rise; and
where R stands still, which rules that say -1 or 1 often make it do, the same rules could come and go for ever.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.boosting.base_learner import BaseLearner, GrownRule, resampled
from core.boosting.boosted_classifier import BinaryProblem
from core.boosting.linear_programs.minimax_program import MARGIN_TOLERANCE, MinimaxProgram
from core.boosting.linear_programs.regularized_duals import EvenDuals
from core.boosting.rule_table import RuleTable, average_output
from core.boosting.rules import Rule
from core.exceptions import SolverFailed
from core.kernels.simplex.regularized_duals import MARGIN_LIMIT

#: What the weights of rules to come may sum to: twice what those so far do, and one at least, since margins reach their
#: limits only where weights sum to 1/2 or more.
_NORM_GROWTH, _LEAST_NORM = 2.0, 1.0
#: Edges are sums of weights that sum to 1 at most.
_EDGE_ROUNDING = 1e-14


class RoundLimits(NamedTuple):
    """When the rounds end, and what happens in them."""

    n_rounds: int
    n_leaves: int
    regularization: float  # lambda
    resamples: bool
    drops_rules: bool
    even_duals: bool
    tolerance: float  # of R, with even duals


class MinimaxRounds(NamedTuple):
    """What the rounds came to."""

    rules: list[Rule]
    weights: NDArray[np.float64]  # (rule,)
    minimax_risk: float
    risk_path: NDArray[np.float64]  # (round,), R after each
    stop_reason: str  # "edge", "n_rounds" or "solver_failed"
    failure: SolverFailed | None


class _Rounds:
    """Algorithm 1 at work. `outputs_of` says what the leaves of a tree say, (leaf,) in [-1, 1]."""

    def __init__(
        self,
        problem: BinaryProblem,
        learner: BaseLearner,
        limits: RoundLimits,
        outputs_of: Callable[[GrownRule], NDArray[np.float64]],
    ) -> None:
        self._problem, self._learner, self._limits, self._outputs_of = problem, learner, limits, outputs_of
        self._table = RuleTable(limits.n_rounds, len(problem.signs), limits.n_leaves)
        self._program = MinimaxProgram(self._table, problem.signs, problem.shares, limits.regularization)
        self._even = EvenDuals(self._table, problem.signs, problem.shares, limits.regularization)
        self._rules: list[Rule] = []
        self._risk_path: list[float] = []
        self._last_edge = 0.0  # of the rule grown last

    def run(self) -> MinimaxRounds:
        try:
            return self._ended(self._boost(), None)
        except SolverFailed as failure:
            return self._ended("solver_failed", failure)

    def _boost(self) -> str:
        """Round after round; says why the last one was."""
        while len(self._rules) < self._limits.n_rounds:
            if not self._add_rule():
                return "edge"
            self._risk_path.append(min(self._program.solve().minimax_risk, self._last_risk(1)))
            if self._limits.drops_rules:
                self._drop_slack()
            if self._limits.even_duals:
                self._even.follow(self._program.solution.rules)
        return "n_rounds"

    def _ended(self, stop_reason: str, failure: SolverFailed | None) -> MinimaxRounds:
        solution = self._program.solution
        kept = [self._rules[rule] for rule in solution.rules]
        path = np.array(self._risk_path)
        return MinimaxRounds(kept, solution.rule_weights, solution.minimax_risk, path, stop_reason, failure)

    def _add_rule(self) -> bool:
        """Grow a rule of an edge above lambda, if any of the round's weightings leads to one: that of the even duals,
        then that of the solver, unless the even ones show that R is near the least that the learner's rules allow.
        """
        if not (self._limits.even_duals and self._rules):
            return self._add_rule_on(self._program.signed_weights(), self._limits.regularization)
        # rules that are in already may have edges up to that
        least_edge = self._limits.regularization + min(self._even.violation, self._limits.regularization)
        if self._add_rule_on(self._even.signed_weights(), least_edge):
            return True
        weight_norm = max(_LEAST_NORM, _NORM_GROWTH * float(np.abs(self._program.solution.rule_weights).sum()))
        bound = self._even.lower_bound(self._last_edge, weight_norm)
        if self._program.solution.minimax_risk - bound <= self._limits.tolerance:
            return False
        return self._add_rule_on(self._program.signed_weights(), self._limits.regularization, replaces_last=True)

    def _add_rule_on(self, signed: NDArray[np.float64], least_edge: float, replaces_last: bool = False) -> bool:
        """Grow a rule on w_i ytilde_i of (19), (row,), and keep it if it is new and its edge exceeds the least."""
        drawn = resampled(signed, self._problem.generator) if self._limits.resamples else signed
        grown = self._learner.grow(drawn, replaces_last)
        outputs = self._outputs_of(grown)
        self._last_edge = average_output(grown.leaves, outputs, signed)
        is_kept = self._last_edge > least_edge + _EDGE_ROUNDING and not self._has(grown.leaves, outputs)
        if is_kept:
            self._table.add(grown.leaves, outputs)
            self._rules.append(grown.rule(outputs))
            self._program.add_rule(len(self._rules) - 1)
        return is_kept

    def _has(self, leaves: NDArray[np.uint8], outputs: NDArray[np.float64]) -> bool:
        """Whether the program has a rule that says the same: its weight is not settled, and no second one helps."""
        return any(self._table.is_like(rule, leaves, outputs) for rule in self._program.solution.rules.tolist())

    def _last_risk(self, back: int) -> float:
        return self._risk_path[-back] if len(self._risk_path) >= back else MARGIN_LIMIT

    def _drop_slack(self) -> None:
        if self._last_risk(1) >= self._last_risk(2) - MARGIN_TOLERANCE:
            return
        slack = np.abs(self._program.edges()) < self._limits.regularization - MARGIN_TOLERANCE
        if slack.any():
            self._program.drop_rules(slack)


def run_rounds(
    problem: BinaryProblem,
    learner: BaseLearner,
    limits: RoundLimits,
    outputs_of: Callable[[GrownRule], NDArray[np.float64]],
) -> MinimaxRounds:
    """Algorithm 1. `outputs_of` says what the leaves of a tree say, (leaf,) in [-1, 1].

    Raises FitStopped. A solver's failure ends the rounds, and what they came to before is kept.
    """
    return _Rounds(problem, learner, limits, outputs_of).run()
