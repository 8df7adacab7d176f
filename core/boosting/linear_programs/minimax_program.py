"""Linear program of robust minimax boosting (Mazuelas and Alvarez 2025, problems (6), (16) and (17)).

The program is

    minimize  1/2 - sum_i p_i y_i u_i mu + lambda ||mu||_1    such that  -1/2 <= u_i mu <= 1/2 for every row i

where u_i are the outputs of the rules for row i, and p_i is the row's share of the total weight (1/n in the paper). It
is solved by column and row generation. The solver only knows the rows of a working set. All other rows are checked in
one pass over the rules' outputs, and the most violated ones are added to the set, until no row is violated. At a vertex
no more constraints bind than there are rules, so the set stays small whatever n is: hundreds of rows for a hundred
rules. Rows are never removed.

The primal is solved by a simplex method (minimax_simplex.py), whose gradients are the solution of the dual (17).

Signs: alpha_i >= 0 belongs to u_i mu <= 1/2, and beta_i >= 0 to u_i mu >= -1/2. Both are 0 for rows outside the set.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.boosting.linear_programs.minimax_simplex import MinimaxSimplex
from core.boosting.rule_table import RuleTable
from core.exceptions import SolverFailed
from core.kernels.simplex.dictionary import LIMIT_REACHED, OPTIMAL, UNBOUNDED
from core.kernels.simplex.regularized_duals import MARGIN_LIMIT

#: Tolerance of the margin constraints.
MARGIN_TOLERANCE = 1e-8
#: Minimum number of rows added to the working set at a time; otherwise half the number of rules.
_MIN_ADDED_ROWS = 32
#: Violated rows considered for each row added, because many have identical constraints and one of them suffices.
_CANDIDATES_PER_ROW = 4
#: Number of digits to which margins are compared.
_MARGIN_DIGITS = 9
#: The dictionary is rebuilt if its values deviate from the rules' outputs by more than this.
_MAX_DRIFT = 1e-10
#: Smaller changes of margins are rounding errors.
_MIN_CHANGE = 1e-7
#: Limit on the pivots of one solve. With two hundred rules, a solve takes hundreds.
_MAX_STEPS = 100_000
#: Tolerance after a rebuild, because nearly identical rules do not allow better precision.
_MAX_DRIFT_REBUILT = 1e-9
_STATUS = {LIMIT_REACHED: "Iteration limit reached", OPTIMAL: "Values not precise", UNBOUNDED: "Unbounded"}


class Solution(NamedTuple):
    """Optimum over the rules so far. `rules` are their numbers in the table."""

    rules: NDArray[np.int64]
    rule_weights: NDArray[np.float64]  # (len(rules),), mu
    margin_duals: NDArray[np.float64]  # (row,), alpha - beta of (17)
    minimax_risk: float  # R


class MinimaxProgram:
    """Problem (16) over rules of a table.

    `signs` (row,) are -1 or 1. `row_shares` (row,) are positive and sum to 1.
    """

    def __init__(
        self,
        table: RuleTable,
        signs: NDArray[np.float64],
        row_shares: NDArray[np.float64],
        regularization: float,
        iteration_limit: int = _MAX_STEPS,
    ) -> None:
        self._table = table
        self._signed_shares = signs * row_shares
        self._regularization = regularization
        self._rules = np.empty(0, dtype=np.int64)
        self._rows = np.empty(0, dtype=np.int64)
        self._margins = np.zeros(len(signs), dtype=np.float64)
        self._simplex = MinimaxSimplex(regularization)
        self._iteration_limit = iteration_limit
        #: The last optimum. Without rules it is random guessing.
        self.solution = Solution(self._rules, np.empty(0), np.zeros(len(signs)), MARGIN_LIMIT)

    def add_rule(self, rule: int) -> None:
        """Add a rule of the table to the program."""
        tau = self._table.weighted_sum(self._signed_shares, rule)
        self._simplex.add_rule(tau, self._table.outputs_at(np.array([rule]), self._rows)[:, 0])
        self._rules = np.append(self._rules, rule)

    def drop_rules(self, dropped: NDArray[np.bool_]) -> None:
        """Remove the rules with `dropped` (len(rules),), whose weights are zero."""
        self._simplex.drop_rules(dropped)
        self._rules = self._rules[~dropped]
        last = self.solution
        self.solution = last._replace(rules=last.rules[~dropped], rule_weights=last.rule_weights[~dropped])

    def solve(self) -> Solution:
        """Return the optimum over all rows. Raises SolverFailed with the last optimum before it."""
        steps_left, is_rebuilt = self._iteration_limit, False
        while True:
            outcome = self._simplex.run(steps_left)
            steps_left -= outcome.n_steps
            if outcome.status == UNBOUNDED and self._add_blocking_rows(outcome.column):
                continue
            self._table.combine(self._rules, self._simplex.weights(), self._margins)
            max_drift = _MAX_DRIFT_REBUILT if is_rebuilt else _MAX_DRIFT
            if outcome.status == OPTIMAL and self._simplex.drift(self._margins[self._rows]) <= max_drift:
                violated_rows = _most_violated(self._margins, max(_MIN_ADDED_ROWS, len(self._rules) // 2))
                if len(violated_rows) == 0:
                    return self._set_solution()
                self._add_rows(violated_rows)
                is_rebuilt = False
            elif outcome.status == LIMIT_REACHED or is_rebuilt:
                raise SolverFailed(_STATUS.get(outcome.status, "No pivot left"), self.solution)
            else:
                self._rebuild()
                is_rebuilt = True

    def edges(self) -> NDArray[np.float64]:
        """Return sum_i w_i ytilde_i h_j(x_i) under the weights (19) for every rule j in the program, (len(rules),)."""
        return self._simplex.edges()

    def signed_weights(self) -> NDArray[np.float64]:
        """Return w_i ytilde_i of (19), (row,)."""
        return self._signed_shares - self.solution.margin_duals

    def _rebuild(self) -> None:
        try:
            self._simplex.rebuild(self._table.outputs_at(self._rules, self._rows))
        except np.linalg.LinAlgError:
            raise SolverFailed("Singular basis", self.solution) from None

    def _set_solution(self) -> Solution:
        duals = np.zeros_like(self._margins)
        duals[self._rows] = self._simplex.margin_duals()
        risk = max(MARGIN_LIMIT - self._simplex.gain(), 0.0)
        self.solution = Solution(self._rules, self._simplex.weights(), duals, risk)
        return self.solution

    def _add_blocking_rows(self, column: int) -> bool:
        """Add the rows that first block an unbounded step along a column. Return False if there are none."""
        changes = np.empty_like(self._margins)
        self._table.combine(self._rules, self._simplex.direction(column), changes)
        self._table.combine(self._rules, self._simplex.weights(), self._margins)
        changes[self._rows] = 0.0
        moving = np.flatnonzero(np.abs(changes) > _MIN_CHANGE)
        slack = np.maximum(MARGIN_LIMIT - self._margins[moving] * np.sign(changes[moving]), 0.0)
        _, first = np.unique(np.round(slack / np.abs(changes[moving]), _MARGIN_DIGITS), return_index=True)
        self._add_rows(moving[first[:_MIN_ADDED_ROWS]])
        return len(first) > 0

    def _add_rows(self, rows: NDArray[np.int64]) -> None:
        self._simplex.add_rows(self._table.outputs_at(self._rules, rows))
        self._rows = np.concatenate([self._rows, rows])


def _most_violated(margins: NDArray[np.float64], max_rows: int) -> NDArray[np.int64]:
    """Return up to `max_rows` rows with the largest violations, the first row for each distinct margin."""
    excess = np.abs(margins) - MARGIN_LIMIT
    violated = np.flatnonzero(excess > MARGIN_TOLERANCE)
    n_candidates = _CANDIDATES_PER_ROW * max_rows
    if len(violated) > n_candidates:
        smallest = np.partition(excess[violated], -n_candidates)[-n_candidates]
        violated = violated[excess[violated] >= smallest]
    ranked = violated[np.argsort(-excess[violated], kind="stable")]
    _, first = np.unique(np.round(margins[ranked], _MARGIN_DIGITS), return_index=True)
    return ranked[np.sort(first)[:max_rows]]
