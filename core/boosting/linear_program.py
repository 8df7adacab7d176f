"""The linear program of robust minimax boosting (Mazuelas and Alvarez 2025, problems (6), (16) and (17)), grown by
rules and by rows.

    minimise  1/2 - sum_i p_i y_i u_i mu + lambda ||mu||_1    such that  -1/2 <= u_i mu <= 1/2 for every row i

u_i is what the rules say about row i, p_i the row's share of the total weight (1/n in the paper). The solver knows a
few rows, the working set; all others are checked in one pass over the rules' outputs, and those that its solution
violates most join the set, until none does. No more rows bind at a vertex than there are rules, so the set stays small
whatever n is.

What the solver holds is the dual (17) over the working set, which has one row a rule and bases as small as that:

    minimise  sum_i (alpha_i + beta_i) / 2 + sum_j s_j / lambda
    such that  tau_j - lambda <= sum_i u_ij (alpha_i - beta_i) +- s_j <= tau_j + lambda  for every rule j

with tau_j = sum_i p_i y_i u_ij. The s_j keep it feasible while rows are missing: they stand for |mu_j| <= 1 / lambda,
which no optimum touches, since lambda ||mu||_1 < 1/2 wherever R < 1/2. A rule adds a row, a row two columns, and mu are
the multipliers.

Signs: alpha_i >= 0 belongs to u_i mu <= 1/2, beta_i >= 0 to u_i mu >= -1/2; rows outside the set have neither.
"""

from typing import NamedTuple

import highspy
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
        self._n_columns = 0
        self._margin_columns = np.empty(0, dtype=np.int32)  # alpha and beta of each row of the working set in turn
        self._spare_columns = np.empty(0, dtype=np.int32)  # both s of each rule in turn
        #: The last optimum: before any rule, to guess with even chances.
        self.solution = Solution(self._rules, np.empty(0), np.zeros(len(signs)), MARGIN_LIMIT)

    @property
    def working_set(self) -> NDArray[np.int64]:
        """Numbers of the rows that the solver knows."""
        return self._rows

    def add_rule(self, rule: int) -> None:
        """Take a rule of the table into the program."""
        tau = self._table.average(self._signed_shares, rule)
        outputs = _both_signs(self._table.outputs_at(np.array([rule]), self._rows))[0]
        entries = np.flatnonzero(outputs)
        limit = self._regularization
        self._solver.addRow(tau - limit, tau + limit, len(entries), self._margin_columns[entries], outputs[entries])
        place = np.array([len(self._rules)], dtype=np.int32)
        for sign in (1.0, -1.0):
            self._solver.addCol(1.0 / limit, 0.0, highspy.kHighsInf, 1, place, np.array([sign]))
        self._spare_columns = np.append(self._spare_columns, self._next_columns(2))
        self._rules = np.append(self._rules, rule)

    def drop_rules(self, dropped: NDArray[np.bool_]) -> None:
        """Forget the rules at `dropped` (len(rules),), whose weights are zero."""
        numbers = np.flatnonzero(dropped).astype(np.int32)
        columns = self._spare_columns[np.repeat(dropped, 2)]
        self._solver.deleteRows(len(numbers), numbers)
        self._solver.deleteCols(len(columns), columns)
        self._margin_columns = _renumbered(self._margin_columns, columns)
        self._spare_columns = _renumbered(self._spare_columns[np.repeat(~dropped, 2)], columns)
        self._n_columns -= len(columns)
        self._rules = self._rules[~dropped]
        kept = self.solution
        self.solution = kept._replace(rules=kept.rules[~dropped], rule_weights=kept.rule_weights[~dropped])

    def solve(self) -> Solution:
        """The optimum over all rows. Raises SolverFailed, which holds the last optimum before."""
        while True:
            rule_weights, row_duals, risk = self._solved()
            self._table.combine(self._rules, rule_weights, self._margins)
            joining = _most_violated(self._margins, max(_FEWEST_JOINING, len(self._rules) // 2))
            if len(joining) == 0:
                break
            self._add_rows(joining)
        duals = np.zeros_like(self._margins)
        duals[self._rows] = row_duals
        self.solution = Solution(self._rules, rule_weights, duals, risk)
        return self.solution

    def edges(self) -> NDArray[np.float64]:
        """sum_i w_i ytilde_i h_j(x_i) of every rule j in the program, (len(rules),), under the weights (19)."""
        signed = self.signed_weights()
        return np.array([self._table.average(signed, rule) for rule in self._rules.tolist()])

    def signed_weights(self) -> NDArray[np.float64]:
        """w_i ytilde_i of (19), (row,)."""
        return self._signed_shares - self.solution.margin_duals

    def _solved(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """mu, alpha - beta of the working set, and R."""
        run_to_optimum(self._solver, self.solution)
        found = self._solver.getSolution()
        duals = np.array(found.col_value)[self._margin_columns]
        risk = MARGIN_LIMIT - self._solver.getInfo().objective_function_value
        return np.array(found.row_dual), duals[0::2] - duals[1::2], risk

    def _add_rows(self, rows: NDArray[np.int64]) -> None:
        columns = _both_signs(self._table.outputs_at(self._rules, rows)).T
        n_columns, n_rules = columns.shape
        starts = (np.arange(n_columns) * n_rules).astype(np.int32)
        places = np.tile(np.arange(n_rules, dtype=np.int32), n_columns)
        cost, least = np.full(n_columns, MARGIN_LIMIT), np.zeros(n_columns)
        endless = np.full(n_columns, highspy.kHighsInf)
        self._solver.addCols(n_columns, cost, least, endless, columns.size, starts, places, columns.ravel())
        self._margin_columns = np.append(self._margin_columns, self._next_columns(n_columns))
        self._rows = np.concatenate([self._rows, rows])

    def _next_columns(self, n_columns: int) -> NDArray[np.int32]:
        """Numbers of the columns that the solver was just given."""
        first = self._n_columns
        self._n_columns += n_columns
        return np.arange(first, self._n_columns, dtype=np.int32)


def _both_signs(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """What rules say about rows (row, rule) as entries of alpha and beta in turn, (rule, 2 * row)."""
    return np.stack([outputs.T, -outputs.T], axis=2).reshape(outputs.shape[1], -1)


def _renumbered(columns: NDArray[np.int32], deleted: NDArray[np.int32]) -> NDArray[np.int32]:
    """The numbers of `columns` once others, ascending, are gone."""
    return (columns - np.searchsorted(deleted, columns)).astype(np.int32)


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
