"""The linear program of robust minimax boosting (Mazuelas and Alvarez 2025, problems (6), (16) and (17)), grown by
rules and by rows.

    minimise  1/2 - sum_i p_i y_i u_i mu + lambda ||mu||_1    such that  -1/2 <= u_i mu <= 1/2 for every row i

u_i is what the rules say about row i, p_i the row's share of the total weight (1/n in the paper). The solver knows a
few rows, the working set; all others are checked in one pass over the rules' outputs, and those that its solution
violates most join the set, until none does. No more rows bind at a vertex than there are rules, so the set stays small
whatever n is: hundreds of rows for a hundred rules. A row that joined stays.

What is solved is the primal, by an own simplex method (minimax_simplex.py); its gradients are the dual (17).

Signs: alpha_i >= 0 belongs to u_i mu <= 1/2, beta_i >= 0 to u_i mu >= -1/2; rows outside the set have neither.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.boosting.linear_programs.minimax_simplex import MinimaxSimplex
from core.boosting.rule_table import RuleTable
from core.exceptions import SolverFailed
from core.kernels.simplex.dictionary import LIMIT_REACHED, OPTIMAL, UNBOUNDED
from core.kernels.simplex.regularized_duals import MARGIN_LIMIT

#: How far margins may be from what they should be.
MARGIN_TOLERANCE = 1e-8
#: Rows that join the working set at a time: as many as half the rules, and at least these.
_FEWEST_JOINING = 32
#: Violated rows looked at for each that joins; many are alike, and one of those is enough.
_LOOKED_AT = 4
#: Margins are told apart to this many digits.
_MARGIN_DIGITS = 9
#: Values further than this from what the rules give are computed anew.
_MOST_DRIFT = 1e-10
#: Changes of margins that are more than errors.
_LEAST_CHANGE = 1e-7
#: Steps in a solve; rounds of two hundred rules take hundreds.
_MOST_STEPS = 100_000
#: What is taken of values that were computed anew: rules that are nearly alike allow no better.
_MOST_DRIFT_ANEW = 1e-9
_STATUS = {LIMIT_REACHED: "Iteration limit reached", OPTIMAL: "Values not precise", UNBOUNDED: "Unbounded"}


class Solution(NamedTuple):
    """An optimum over the rules so far; `rules` are their numbers in the table."""

    rules: NDArray[np.int64]
    rule_weights: NDArray[np.float64]  # (len(rules),), mu
    margin_duals: NDArray[np.float64]  # (row,), alpha - beta of (17)
    minimax_risk: float  # R


class MinimaxProgram:
    """Problem (16) over rules of a table. `signs` (row,) are -1 or 1, `shares` (row,) are positive and sum to 1."""

    def __init__(
        self,
        table: RuleTable,
        signs: NDArray[np.float64],
        shares: NDArray[np.float64],
        regularization: float,
        iteration_limit: int = _MOST_STEPS,
    ) -> None:
        self._table = table
        self._signed_shares = signs * shares
        self._regularization = regularization
        self._rules = np.empty(0, dtype=np.int64)
        self._rows = np.empty(0, dtype=np.int64)
        self._margins = np.zeros(len(signs), dtype=np.float64)
        self._simplex = MinimaxSimplex(regularization)
        self._iteration_limit = iteration_limit
        #: The last optimum: before any rule, to guess with even chances.
        self.solution = Solution(self._rules, np.empty(0), np.zeros(len(signs)), MARGIN_LIMIT)

    @property
    def working_set(self) -> NDArray[np.int64]:
        """Numbers of the rows that the solver knows."""
        return self._rows

    def add_rule(self, rule: int) -> None:
        """Take a rule of the table into the program."""
        tau = self._table.average(self._signed_shares, rule)
        self._simplex.add_rule(tau, self._table.outputs_at(np.array([rule]), self._rows)[:, 0])
        self._rules = np.append(self._rules, rule)

    def drop_rules(self, dropped: NDArray[np.bool_]) -> None:
        """Forget the rules at `dropped` (len(rules),), whose weights are zero."""
        self._simplex.drop_rules(dropped)
        self._rules = self._rules[~dropped]
        kept = self.solution
        self.solution = kept._replace(rules=kept.rules[~dropped], rule_weights=kept.rule_weights[~dropped])

    def solve(self) -> Solution:
        """The optimum over all rows. Raises SolverFailed, which holds the last optimum before."""
        steps_left, is_new = self._iteration_limit, False
        while True:
            outcome = self._simplex.run(steps_left)
            steps_left -= outcome.n_steps
            if outcome.status == UNBOUNDED and self._bound(outcome.column):
                continue
            self._table.combine(self._rules, self._simplex.weights(), self._margins)
            most_drift = _MOST_DRIFT_ANEW if is_new else _MOST_DRIFT
            if outcome.status == OPTIMAL and self._simplex.drift(self._margins[self._rows]) <= most_drift:
                joining = _most_violated(self._margins, max(_FEWEST_JOINING, len(self._rules) // 2))
                if len(joining) == 0:
                    return self._found()
                self._add_rows(joining)
                is_new = False
            elif outcome.status == LIMIT_REACHED or is_new:
                raise SolverFailed(_STATUS.get(outcome.status, "No pivot left"), self.solution)
            else:
                self._compute_anew()
                is_new = True

    def edges(self) -> NDArray[np.float64]:
        """sum_i w_i ytilde_i h_j(x_i) of every rule j in the program, (len(rules),), under the weights (19)."""
        return self._simplex.edges()

    def signed_weights(self) -> NDArray[np.float64]:
        """w_i ytilde_i of (19), (row,)."""
        return self._signed_shares - self.solution.margin_duals

    def _compute_anew(self) -> None:
        try:
            self._simplex.rebuild(self._table.outputs_at(self._rules, self._rows))
        except np.linalg.LinAlgError:
            raise SolverFailed("Singular basis", self.solution) from None

    def _found(self) -> Solution:
        duals = np.zeros_like(self._margins)
        duals[self._rows] = self._simplex.margin_duals()
        risk = max(MARGIN_LIMIT - self._simplex.worth(), 0.0)
        self.solution = Solution(self._rules, self._simplex.weights(), duals, risk)
        return self.solution

    def _bound(self, column: int) -> bool:
        """Let those rows join that end the way along a column first. False if none does."""
        changes = np.empty_like(self._margins)
        self._table.combine(self._rules, self._simplex.direction(column), changes)
        self._table.combine(self._rules, self._simplex.weights(), self._margins)
        changes[self._rows] = 0.0
        moving = np.flatnonzero(np.abs(changes) > _LEAST_CHANGE)
        slack = np.maximum(MARGIN_LIMIT - self._margins[moving] * np.sign(changes[moving]), 0.0)
        _, first = np.unique(np.round(slack / np.abs(changes[moving]), _MARGIN_DIGITS), return_index=True)
        self._add_rows(moving[first[:_FEWEST_JOINING]])
        return len(first) > 0

    def _add_rows(self, rows: NDArray[np.int64]) -> None:
        self._simplex.add_rows(self._table.outputs_at(self._rules, rows))
        self._rows = np.concatenate([self._rows, rows])


def _most_violated(margins: NDArray[np.float64], n_most: int) -> NDArray[np.int64]:
    """Up to `n_most` rows whose margins break the limit most, one of those that break it alike; the first of equals."""
    excess = np.abs(margins) - MARGIN_LIMIT
    violated = np.flatnonzero(excess > MARGIN_TOLERANCE)
    n_looked_at = _LOOKED_AT * n_most
    if len(violated) > n_looked_at:
        least = np.partition(excess[violated], -n_looked_at)[-n_looked_at]
        violated = violated[excess[violated] >= least]
    ranked = violated[np.argsort(-excess[violated], kind="stable")]
    _, first = np.unique(np.round(margins[ranked], _MARGIN_DIGITS), return_index=True)
    return ranked[np.sort(first)[:n_most]]
