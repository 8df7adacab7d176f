"""The linear program of robust minimax boosting (Mazuelas and Alvarez 2025, problems (6), (16) and (17)), grown by
rules and by rows.

    minimise  1/2 - sum_i p_i y_i u_i mu + lambda ||mu||_1    such that  -1/2 <= u_i mu <= 1/2 for every row i

u_i is what the rules say about row i, p_i the row's share of the total weight (1/n in the paper). The solver knows a
few rows, the working set; all others are checked in one pass over the rules' outputs, and those that its solution
violates most join the set, until none does. No more rows bind at a vertex than there are rules, so the set stays small
whatever n is.

Signs: alpha_i >= 0 belongs to u_i mu <= 1/2, beta_i >= 0 to u_i mu >= -1/2; rows outside the set have neither.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.boosting.rule_table import RuleTable
from core.boosting.solver import UNLIMITED, new_solver, run_to_optimum

MARGIN_LIMIT = 0.5
#: How far margins may be from what they should be.
MARGIN_TOLERANCE = 1e-8
#: Rows that join the working set at a time: as many as half the rules, and at least these.
_FEWEST_JOINING = 32
#: Violated rows looked at for each that joins; many are alike, and one of those is enough.
_LOOKED_AT = 4
#: Margins are told apart to this many digits.
_MARGIN_DIGITS = 9


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
        iteration_limit: int = UNLIMITED,
    ) -> None:
        self._table = table
        self._signed_shares = signs * shares
        self._regularization = regularization
        self._rules = np.empty(0, dtype=np.int64)
        self._rows = np.empty(0, dtype=np.int64)
        self._margins = np.zeros(len(signs), dtype=np.float64)
        self._solver = new_solver(iteration_limit)
        #: The last optimum: before any rule, to guess with even chances.
        self.solution = Solution(self._rules, np.empty(0), np.zeros(len(signs)), MARGIN_LIMIT)

    @property
    def working_set(self) -> NDArray[np.int64]:
        """Numbers of the rows that the solver knows."""
        return self._rows

    def add_rule(self, rule: int) -> None:
        """Add the column of a rule of the table."""
        tau = self._table.average(self._signed_shares, rule)
        column = self._table.outputs_at(np.array([rule]), self._rows)[:, 0]
        entries = np.flatnonzero(column).astype(np.int32)
        # lambda ||mu||_1 < 1/2 wherever R < 1/2: the bound never binds, and keeps finite what no row limits yet
        bound = 1.0 / self._regularization
        for sign in (1.0, -1.0):
            cost = self._regularization - sign * tau
            self._solver.addCol(cost, 0.0, bound, len(entries), entries, sign * column[entries])
        self._rules = np.append(self._rules, rule)

    def drop_rules(self, dropped: NDArray[np.bool_]) -> None:
        """Forget the rules at `dropped` (len(rules),), whose weights are zero."""
        columns = np.repeat(dropped, 2)
        self._solver.deleteCols(int(columns.sum()), np.flatnonzero(columns).astype(np.int32))
        self._rules = self._rules[~dropped]
        kept = self.solution
        self.solution = kept._replace(rules=kept.rules[~dropped], rule_weights=kept.rule_weights[~dropped])

    def solve(self) -> Solution:
        """The optimum over all rows. Raises SolverFailed, which holds the last optimum before."""
        while True:
            rule_weights, row_duals, objective = self._solved()
            self._table.combine(self._rules, rule_weights, self._margins)
            joining = _most_violated(self._margins, max(_FEWEST_JOINING, len(self._rules) // 2))
            if len(joining) == 0:
                break
            self._add_rows(joining)
        duals = np.zeros_like(self._margins)
        duals[self._rows] = row_duals
        self.solution = Solution(self._rules, rule_weights, duals, MARGIN_LIMIT + objective)
        return self.solution

    def edges(self) -> NDArray[np.float64]:
        """sum_i w_i ytilde_i h_j(x_i) of every rule j in the program, (len(rules),), under the weights (19)."""
        signed = self.signed_weights()
        return np.array([self._table.average(signed, rule) for rule in self._rules.tolist()])

    def signed_weights(self) -> NDArray[np.float64]:
        """w_i ytilde_i of (19), (row,)."""
        return self._signed_shares - self.solution.margin_duals

    def _solved(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """mu, alpha - beta of the working set, and the objective less 1/2."""
        run_to_optimum(self._solver, self.solution)
        found = self._solver.getSolution()
        parts = np.array(found.col_value)
        # the solver's multipliers are those of a minimisation: not positive where an upper limit binds
        return parts[0::2] - parts[1::2], -np.array(found.row_dual), self._solver.getInfo().objective_function_value

    def _add_rows(self, rows: NDArray[np.int64]) -> None:
        outputs = self._table.outputs_at(self._rules, rows)
        entries = np.stack([outputs, -outputs], axis=2).reshape(len(rows), -1)
        n_columns = entries.shape[1]
        starts = (np.arange(len(rows)) * n_columns).astype(np.int32)
        columns = np.tile(np.arange(n_columns, dtype=np.int32), len(rows))
        limit = np.full(len(rows), MARGIN_LIMIT)
        self._solver.addRows(len(rows), -limit, limit, entries.size, starts, columns, entries.ravel())
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
