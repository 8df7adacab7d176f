"""The simplex method for the soft margin of LPBoost, which goes on from where it stopped as rules join.

    maximise  rho - sum_i D_i max(0, -s_i)    such that  s_i = sum_j a_j y_i h_j(x_i) - rho,  sum_j a_j = 1,  a_j >= 0

Its dictionary (core.kernels.simplex.dictionary) has the roles of minimax boosting turned round. What has a kink is
how far each row is above the margin, s_i: half of D_i is its price on either side, the other half what it gains. What
has limits are the rules' weights a_j, counted from the middle of [0, 2]. That they sum to 1 is one more kink, of a
price above all that breaking it could gain, as no margin is above 1. The margin rho is the weight of a rule 0 that
says -2 of every row, and 2 is added to every s_i: so rho is within [-2, 2].

So all weights within their limits are feasible, and a rule that joins leaves them so: the primal method goes on.

Rules that say -1 or 1 make many rows alike, and the method would stand still among them. So each s_i is raised a
little, by less than anyone asks for and by the same in every run.
"""

import numpy as np
from numpy.typing import NDArray

from core.boosting.linear_programs.expandable_dictionary import empty_dictionary, scattered, with_room
from core.kernels.simplex.dictionary import Outcome, Size
from core.kernels.simplex.primal import primal_simplex

#: Rows are raised by up to this.
_RAISED = 1e-9
#: Weights are within [0, 2], and known by how far they are from the middle.
_MIDDLE = 1.0
#: What rule 0 takes from every row for its weight, what is added to every row, and what that weight gains.
_MARGIN_UNIT = 2.0
_PRICE_OF_SUM = 2.0
#: How far gradients may be from those of an optimum, and values from their limits where that makes better pivots.
_GRADIENT_TOLERANCE = 1e-12
_VALUE_SLACK = 1e-12


class MarginSimplex:
    """The program over the rules that joined. `limits` (row,) are the D_i, above zero.

    Variables with a kink are known by the number of their row, and the sum of the weights by the number of rows; the
    weight of rule j, which was the j-th to join, is ~j.
    """

    def __init__(self, limits: NDArray[np.float64]) -> None:
        n_rows = len(limits)
        self._gains, self._prices = np.append(limits / 2, 0.0), np.append(limits / 2, _PRICE_OF_SUM)
        self._constants = np.append(_MARGIN_UNIT + _RAISED * scattered(np.arange(n_rows)), -1.0)
        self._size = Size(n_rows + 1, 0)
        self._held = empty_dictionary(n_rows + 1, 16)
        self._held.basic[:] = np.arange(n_rows + 1)
        self._held.value[:] = self._constants
        self._held.side[:] = np.sign(self._constants)
        self._held.row_limit[:] = self._prices
        self._join(np.append(np.full(n_rows, -_MARGIN_UNIT), 0.0))

    def add_rule(self, said: NDArray[np.float64]) -> None:
        """Take in a rule that says y_i h_j(x_i) of the rows, (row,)."""
        self._join(np.append(said, 1.0))

    def run(self, n_most: int) -> Outcome:
        """Go on to the optimum, in at most `n_most` steps."""
        self._settle()
        return primal_simplex(self._held, self._size, _GRADIENT_TOLERANCE, _VALUE_SLACK, n_most)

    def rule_weights(self) -> NDArray[np.float64]:
        """a, (rule,)."""
        return self._weights()[1:]

    def row_weights(self) -> NDArray[np.float64]:
        """What the margins of the rows are worth: the duals, within 0 and D_i, (row,)."""
        worth = np.zeros(len(self._gains))
        columns, kinks = self._nonbasic_kinks()
        worth[kinks] = self._gains[kinks] - self._held.gradient[columns]
        rows = np.flatnonzero(self._held.basic >= 0)
        worth[self._held.basic[rows]] = self._slopes()[rows]
        return np.clip(worth, 0.0, 2 * self._gains)[:-1]

    def rebuild(self, said: NDArray[np.float64]) -> None:
        """Compute the dictionary anew for the variables that are basic now; what rules say is (row, rule)."""
        held, n_columns = self._held, self._size.n_columns
        self._settle()
        by_weight = self._by_weight(said)
        columns, kinks = self._nonbasic_kinks()
        others = np.flatnonzero(held.nonbasic[:n_columns] < 0)
        used, rows = np.flatnonzero(held.basic < 0), np.flatnonzero(held.basic >= 0)
        of_used, of_others = by_weight[:, ~held.basic[used]], by_weight[:, ~held.nonbasic[others]]
        inverse = np.linalg.inv(of_used[kinks])  # (used weight, nonbasic kink)
        entries = held.entries[:n_columns]
        entries[np.ix_(columns, used)] = inverse.T
        entries[np.ix_(others, used)] = -(inverse @ of_others[kinks]).T
        entries[:, rows] = entries[:, used] @ of_used[held.basic[rows]].T
        entries[np.ix_(others, rows)] += of_others[held.basic[rows]].T
        constants = self._constants[kinks] + of_others[kinks] @ (held.at[others] + _MIDDLE)
        held.value[used] = -(inverse @ constants) - _MIDDLE
        held.value[rows] = (by_weight @ self._weights() + self._constants)[held.basic[rows]]
        held.gradient[:n_columns] = entries @ self._slopes() + self._gains_of(held.nonbasic[:n_columns])

    def _join(self, said: NDArray[np.float64]) -> None:
        """Take in a weight, which is zero, by what it adds to the variables with a kink."""
        place = self._size.n_columns
        columns, kinks = self._nonbasic_kinks()
        self._held = held = with_room(self._held, self._size.n_rows, place + 1)
        column = -(said[kinks] @ held.entries[columns])
        rows = np.flatnonzero(held.basic >= 0)
        column[rows] += said[held.basic[rows]]
        held.entries[place], held.nonbasic[place] = column, ~place
        held.at[place], held.column_limit[place] = -_MIDDLE, _MIDDLE
        held.gradient[place] = column @ self._slopes() + self._gains_of(held.nonbasic[place])
        self._size = Size(self._size.n_rows, place + 1)

    def _settle(self) -> None:
        """Give all variables their own limits, which a run may have widened, and the values that follow."""
        held, n_columns = self._held, self._size.n_columns
        held.row_limit[:] = self._limits_of(held.basic)
        held.column_limit[:n_columns] = self._limits_of(held.nonbasic[:n_columns])
        settled = np.sign(held.at[:n_columns]) * held.column_limit[:n_columns]
        held.value[:] += (settled - held.at[:n_columns]) @ held.entries[:n_columns]
        held.at[:n_columns] = settled

    def _weights(self) -> NDArray[np.float64]:
        """The weights of rule 0 and of those that joined."""
        held, n_columns = self._held, self._size.n_columns
        weights = np.empty(n_columns)
        used = np.flatnonzero(held.basic < 0)
        weights[~held.basic[used]] = held.value[used]
        others = np.flatnonzero(held.nonbasic[:n_columns] < 0)
        weights[~held.nonbasic[others]] = held.at[others]
        return np.maximum(weights + _MIDDLE, 0.0)

    def _by_weight(self, said: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the weights add to the variables with a kink, (kink, weight), from what rules say, (row, rule)."""
        n_rows, n_rules = said.shape
        by_weight = np.empty((n_rows + 1, n_rules + 1))
        by_weight[:-1, 0], by_weight[-1, 0] = -_MARGIN_UNIT, 0.0
        by_weight[:-1, 1:], by_weight[-1, 1:] = said, 1.0
        return by_weight

    def _nonbasic_kinks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The columns of variables at their kinks, and what these are known by."""
        nonbasic = self._held.nonbasic[: self._size.n_columns]
        columns = np.flatnonzero(nonbasic >= 0)
        return columns, nonbasic[columns]

    def _slopes(self) -> NDArray[np.float64]:
        """What the basic variables gain on their sides of the kinks, less what they cost there."""
        return self._gains_of(self._held.basic) - self._held.side * self._limits_of(self._held.basic)

    def _gains_of(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.where(ids >= 0, self._gains[np.maximum(ids, 0)], np.where(ids == ~0, _MARGIN_UNIT, 0.0))

    def _limits_of(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.where(ids >= 0, self._prices[np.maximum(ids, 0)], _MIDDLE)
