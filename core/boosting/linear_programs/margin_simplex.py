"""Simplex method for the soft margin of LPBoost, with warm starts when rules are added.

    maximize  rho - sum_i D_i max(0, -s_i)    such that  s_i = sum_j a_j y_i h_j(x_i) - rho,  sum_j a_j = 1,  a_j >= 0

The dictionary (core.kernels.simplex.dictionary) has the roles of minimax boosting reversed. The variables with a kink
are the slacks s_i of the rows: half of D_i is the price on either side of the kink, and the other half is the gain. The
variables with limits are the weights a_j of the rules, measured from the middle of [0, 2]. The constraint that the
weights sum to 1 is one more kink, whose price exceeds any gain from violating it, because no margin is above 1. The
margin rho is the weight of a rule 0 with the output -2 for every row, and 2 is added to every s_i. So rho is limited to
[-2, 2].

All weights within their limits are therefore feasible, and remain feasible when a rule is added, so that the primal
method continues from the last solution.

Rules with outputs -1 or 1 make many rows identical, which would stall the method. Each s_i is therefore raised by a
small deterministic amount, below the tolerance of the solution.
"""

import numpy as np
from numpy.typing import NDArray

from core.boosting.linear_programs.expandable_dictionary import empty_dictionary, perturbations, with_capacity
from core.kernels.simplex.dictionary import Outcome, Size
from core.kernels.simplex.primal import primal_simplex

#: Upper limit of the amounts that rows are raised by.
_PERTURBATION = 1e-9
#: Weights are in [0, 2] and are represented by their distance from the middle.
_MIDDLE = 1.0
#: Minus the output of rule 0, the constant added to every row, and the gain per unit of the weight of rule 0.
_MARGIN_UNIT = 2.0
_SUM_PENALTY = 2.0
#: Tolerance of gradients at an optimum, and of values at their limits where that allows better pivots.
_GRADIENT_TOLERANCE = 1e-12
_VALUE_SLACK = 1e-12


class MarginSimplex:
    """Linear program over the rules added so far. `limits` (row,) are the D_i, which are positive.

    A variable with a kink has the number of its row as its id, and the sum of the weights has the number of rows. The
    weight of rule j, in the order of addition, has the id ~j.
    """

    def __init__(self, limits: NDArray[np.float64]) -> None:
        n_rows = len(limits)
        self._gains, self._prices = np.append(limits / 2, 0.0), np.append(limits / 2, _SUM_PENALTY)
        self._constants = np.append(_MARGIN_UNIT + _PERTURBATION * perturbations(np.arange(n_rows)), -1.0)
        self._size = Size(n_rows + 1, 0)
        self._dictionary = empty_dictionary(n_rows + 1, 16)
        self._dictionary.basic[:] = np.arange(n_rows + 1)
        self._dictionary.value[:] = self._constants
        self._dictionary.side[:] = np.sign(self._constants)
        self._dictionary.row_limit[:] = self._prices
        self._add_weight(np.append(np.full(n_rows, -_MARGIN_UNIT), 0.0))

    def add_rule(self, signed_outputs: NDArray[np.float64]) -> None:
        """Add a rule with the values y_i h_j(x_i), (row,)."""
        self._add_weight(np.append(signed_outputs, 1.0))

    def run(self, max_steps: int) -> Outcome:
        """Continue to the optimum in at most `max_steps` pivots."""
        self._reset_limits()
        return Outcome(*primal_simplex(self._dictionary, self._size, _GRADIENT_TOLERANCE, _VALUE_SLACK, max_steps))

    def rule_weights(self) -> NDArray[np.float64]:
        """Return the weights a of the rules, (rule,)."""
        return self._weights()[1:]

    def row_weights(self) -> NDArray[np.float64]:
        """Return the duals of the rows, which are in [0, D_i], (row,)."""
        duals = np.zeros(len(self._gains))
        columns, kinks = self._nonbasic_kinks()
        duals[kinks] = self._gains[kinks] - self._dictionary.gradient[columns]
        rows = np.flatnonzero(self._dictionary.basic >= 0)
        duals[self._dictionary.basic[rows]] = self._slopes()[rows]
        return np.clip(duals, 0.0, 2 * self._gains)[:-1]

    def rebuild(self, signed_outputs: NDArray[np.float64]) -> None:
        """Recompute the dictionary for the current basis from the values y_i h_j(x_i), (row, rule)."""
        dictionary, n_columns = self._dictionary, self._size.n_columns
        self._reset_limits()
        coefficients = self._coefficients(signed_outputs)
        columns, kinks = self._nonbasic_kinks()
        others = np.flatnonzero(dictionary.nonbasic[:n_columns] < 0)
        used, rows = np.flatnonzero(dictionary.basic < 0), np.flatnonzero(dictionary.basic >= 0)
        used_columns, other_columns = (
            coefficients[:, ~dictionary.basic[used]],
            coefficients[:, ~dictionary.nonbasic[others]],
        )
        inverse = np.linalg.inv(used_columns[kinks])  # (used weight, nonbasic kink)
        entries = dictionary.entries[:n_columns]
        entries[np.ix_(columns, used)] = inverse.T
        entries[np.ix_(others, used)] = -(inverse @ other_columns[kinks]).T
        entries[:, rows] = entries[:, used] @ used_columns[dictionary.basic[rows]].T
        entries[np.ix_(others, rows)] += other_columns[dictionary.basic[rows]].T
        constants = self._constants[kinks] + other_columns[kinks] @ (dictionary.at[others] + _MIDDLE)
        dictionary.value[used] = -(inverse @ constants) - _MIDDLE
        dictionary.value[rows] = (coefficients @ self._weights() + self._constants)[dictionary.basic[rows]]
        dictionary.gradient[:n_columns] = entries @ self._slopes() + self._gains_of(dictionary.nonbasic[:n_columns])

    def _add_weight(self, signed_outputs: NDArray[np.float64]) -> None:
        """Add a weight with the value zero and its coefficients in the variables with a kink."""
        place = self._size.n_columns
        columns, kinks = self._nonbasic_kinks()
        self._dictionary = dictionary = with_capacity(self._dictionary, self._size.n_rows, place + 1)
        column = -(signed_outputs[kinks] @ dictionary.entries[columns])
        rows = np.flatnonzero(dictionary.basic >= 0)
        column[rows] += signed_outputs[dictionary.basic[rows]]
        dictionary.entries[place], dictionary.nonbasic[place] = column, ~place
        dictionary.at[place], dictionary.column_limit[place] = -_MIDDLE, _MIDDLE
        dictionary.gradient[place] = column @ self._slopes() + self._gains_of(dictionary.nonbasic[place])
        self._size = Size(self._size.n_rows, place + 1)

    def _reset_limits(self) -> None:
        """Reset the limits of all variables, which a run may have widened, and the values that depend on them."""
        dictionary, n_columns = self._dictionary, self._size.n_columns
        dictionary.row_limit[:] = self._limits_of(dictionary.basic)
        dictionary.column_limit[:n_columns] = self._limits_of(dictionary.nonbasic[:n_columns])
        reset = np.sign(dictionary.at[:n_columns]) * dictionary.column_limit[:n_columns]
        dictionary.value[:] += (reset - dictionary.at[:n_columns]) @ dictionary.entries[:n_columns]
        dictionary.at[:n_columns] = reset

    def _weights(self) -> NDArray[np.float64]:
        """Return the weights of rule 0 and of the rules added."""
        dictionary, n_columns = self._dictionary, self._size.n_columns
        weights = np.empty(n_columns)
        used = np.flatnonzero(dictionary.basic < 0)
        weights[~dictionary.basic[used]] = dictionary.value[used]
        others = np.flatnonzero(dictionary.nonbasic[:n_columns] < 0)
        weights[~dictionary.nonbasic[others]] = dictionary.at[others]
        return np.maximum(weights + _MIDDLE, 0.0)

    def _coefficients(self, signed_outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients (kink, weight) of the weights in the variables with a kink, from the values
        y_i h_j(x_i), (row, rule).
        """
        n_rows, n_rules = signed_outputs.shape
        coefficients = np.empty((n_rows + 1, n_rules + 1))
        coefficients[:-1, 0], coefficients[-1, 0] = -_MARGIN_UNIT, 0.0
        coefficients[:-1, 1:], coefficients[-1, 1:] = signed_outputs, 1.0
        return coefficients

    def _nonbasic_kinks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the columns of the variables at their kinks, and their ids."""
        nonbasic = self._dictionary.nonbasic[: self._size.n_columns]
        columns = np.flatnonzero(nonbasic >= 0)
        return columns, nonbasic[columns]

    def _slopes(self) -> NDArray[np.float64]:
        """Return the gains of the basic variables minus the prices on their side of the kink."""
        return self._gains_of(self._dictionary.basic) - self._dictionary.side * self._limits_of(self._dictionary.basic)

    def _gains_of(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.where(ids >= 0, self._gains[np.maximum(ids, 0)], np.where(ids == ~0, _MARGIN_UNIT, 0.0))

    def _limits_of(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.where(ids >= 0, self._prices[np.maximum(ids, 0)], _MIDDLE)
