"""The simplex method for problem (16) over a few rows, which goes on from where it stopped as rules and rows join.

    maximise  sum_j tau_j mu_j - lambda ||mu||_1    such that  -1/2 <= m_i <= 1/2 for every row i of the working set

Its dictionary has a row for each row of the working set and a column for each rule, see
core.kernels.simplex.dictionary. A rule that joins leaves it feasible, and the primal method goes on; a row that joins
leaves the gradients those of an optimum, and the dual method goes on.

Rules that say -1 or 1 make many rows alike, and the method would stand still or go round among equals. So each limit
and each price is lowered a little, by less than anyone asks for and by the same in every run.
"""

import numpy as np
from numpy.typing import NDArray

from core.boosting.linear_programs.expandable_dictionary import empty_dictionary, scattered, with_room
from core.kernels.simplex.dictionary import OPTIMAL, Outcome, Size
from core.kernels.simplex.dual import dual_simplex
from core.kernels.simplex.primal import primal_simplex
from core.kernels.simplex.regularized_duals import MARGIN_LIMIT

#: Limits and prices are lowered by up to these shares.
_LOWER_LIMITS = 2e-9
_LOWER_PRICES = 2e-9
#: How far values, and gradients as shares of a price, may be from what they should be.
_VALUE_TOLERANCE = 2e-11
_GRADIENT_TOLERANCE = 1e-10
#: Gradients are sums of shares of rows, and have no digits below this.
_LEAST_GRADIENT = 1e-14
#: How far they may be while others are chosen that make better pivots.
_SLACK_SHARE = 0.1


class MinimaxSimplex:
    """The program over the rules and rows that joined, which are known by their places in the order of joining.
    `price` is lambda.
    """

    def __init__(self, price: float) -> None:
        self._price = price
        self._size = Size(0, 0)
        self._held = empty_dictionary(64, 16)
        self._n_ever = 0  # rules that ever joined
        self._taus = np.empty(0)
        self._prices = np.empty(0)
        self._limits = np.empty(0)

    def add_rule(self, tau: float, outputs: NDArray[np.float64]) -> None:
        """Take in a rule, whose outputs on the working set are (row,)."""
        n_rows, place = self._size
        self._held = held = with_room(self._held, n_rows, place + 1)
        at_limits, places = self._nonbasic_margins()
        said = outputs[places]
        column = -(said @ held.entries[at_limits, :n_rows])
        basics = held.basic[:n_rows]
        margins = np.flatnonzero(basics < 0)
        column[margins] += outputs[~basics[margins]]
        held.entries[place, :n_rows] = column
        price = self._price * (1 - _LOWER_PRICES * scattered(self._n_ever))
        held.nonbasic[place], held.at[place], held.column_limit[place] = place, 0.0, price
        held.gradient[place] = tau - said @ held.gradient[at_limits]
        self._taus, self._prices = np.append(self._taus, tau), np.append(self._prices, price)
        self._size = Size(n_rows, place + 1)
        self._n_ever += 1

    def add_rows(self, outputs: NDArray[np.float64]) -> None:
        """Take rows into the working set; outputs are (row, rule)."""
        first, n_columns = self._size
        last = first + len(outputs)
        self._held = held = with_room(self._held, last, n_columns)
        weights = np.flatnonzero(held.basic[:first] >= 0)
        entries = held.entries[:n_columns, weights] @ outputs[:, held.basic[weights]].T
        unused = np.flatnonzero(held.nonbasic[:n_columns] >= 0)
        entries[unused] += outputs[:, held.nonbasic[unused]].T
        held.entries[:n_columns, first:last] = entries
        limits = MARGIN_LIMIT * (1 - _LOWER_LIMITS * scattered(np.arange(first, last)))
        held.basic[first:last], held.side[first:last] = ~np.arange(first, last), 0.0
        self._limits = np.append(self._limits, limits)
        self._size = Size(last, n_columns)

    def drop_rules(self, dropped: NDArray[np.bool_]) -> None:
        """Forget the rules at `dropped` (rule,), whose weights are zero."""
        held, (n_rows, n_columns) = self._held, self._size
        nonbasic, basic = held.nonbasic[:n_columns], held.basic[:n_rows]
        kept = np.flatnonzero((nonbasic < 0) | ~dropped[np.maximum(nonbasic, 0)])
        for array in (held.entries, held.nonbasic, held.at, held.gradient, held.column_limit):
            array[: len(kept)] = array[kept]
        places = np.cumsum(~dropped) - 1
        for ids in (held.nonbasic[: len(kept)], basic):
            ids[ids >= 0] = places[ids[ids >= 0]]
        self._taus, self._prices = self._taus[~dropped], self._prices[~dropped]
        self._size = Size(n_rows, len(kept))

    def run(self, n_most: int) -> Outcome:
        """Go on to the optimum, in at most `n_most` steps of the primal and of the dual method."""
        n_steps, tolerance = 0, max(_GRADIENT_TOLERANCE * self._price, _LEAST_GRADIENT)
        slacks = _SLACK_SHARE * _VALUE_TOLERANCE, _SLACK_SHARE * tolerance
        while True:
            self._settle()
            up = primal_simplex(self._held, self._size, tolerance, slacks[0], n_most - n_steps)
            n_steps += up.n_steps
            if up.status != OPTIMAL:
                return up._replace(n_steps=n_steps)
            self._settle()
            down = dual_simplex(self._held, self._size, _VALUE_TOLERANCE, slacks[1], n_most - n_steps)
            n_steps += down.n_steps
            if down.status != OPTIMAL or up.n_steps == 0 or down.n_steps == 0:
                return down._replace(n_steps=n_steps)

    def weights(self) -> NDArray[np.float64]:
        """mu, (rule,)."""
        return self._by_rule(self._held.value[: self._size.n_rows])

    def direction(self, column: int) -> NDArray[np.float64]:
        """How the weights (rule,) change along a column."""
        held = self._held
        sign = np.sign(held.gradient[column])
        weights = self._by_rule(held.entries[column, : self._size.n_rows] * sign)
        if held.nonbasic[column] >= 0:
            weights[held.nonbasic[column]] = sign
        return weights

    def margin_duals(self) -> NDArray[np.float64]:
        """alpha - beta of (17), (row,)."""
        columns, places = self._nonbasic_margins()
        duals = np.zeros(self._size.n_rows)
        duals[places] = self._held.gradient[columns]
        return duals

    def edges(self) -> NDArray[np.float64]:
        """tau less what the margins' duals take of it, (rule,): the gradients of unused rules; used ones have their
        prices.
        """
        held, (n_rows, n_columns) = self._held, self._size
        edges = self._by_rule(held.side[:n_rows] * held.row_limit[:n_rows])
        unused = np.flatnonzero(held.nonbasic[:n_columns] >= 0)
        edges[held.nonbasic[unused]] = held.gradient[unused]
        return edges

    def worth(self) -> float:
        """tau mu - lambda ||mu||_1."""
        weights = self.weights()
        return float(self._taus @ weights - self._price * np.abs(weights).sum())

    def drift(self, margins: NDArray[np.float64]) -> float:
        """How far the values are from the margins (row,) that the weights give, or the gradients from their worth."""
        held, (n_rows, n_columns) = self._held, self._size
        found = np.zeros(n_rows)
        basics = np.flatnonzero(held.basic[:n_rows] < 0)
        found[~held.basic[basics]] = held.value[basics]
        columns, places = self._nonbasic_margins()
        found[places] = held.at[columns]
        weights = self.weights()
        worth = self._taus @ weights - self._prices @ np.abs(weights)
        gap = abs(worth - held.gradient[:n_columns] @ held.at[:n_columns])
        return float(max(np.abs(found - margins).max(initial=0.0), gap))

    def rebuild(self, outputs: NDArray[np.float64]) -> None:
        """Compute the dictionary anew for the variables that are basic now; outputs of the working set (row, rule)."""
        held, (n_rows, n_columns) = self._held, self._size
        columns, places = self._nonbasic_margins()
        unused = np.flatnonzero(held.nonbasic[:n_columns] >= 0)
        used = np.flatnonzero(held.basic[:n_rows] >= 0)
        basics = np.flatnonzero(held.basic[:n_rows] < 0)
        entries = held.entries[:n_columns, :n_rows]
        inverse = np.linalg.inv(outputs[np.ix_(places, held.basic[used])])  # (used rule, nonbasic margin)
        entries[np.ix_(columns, used)] = inverse.T
        entries[np.ix_(unused, used)] = -(inverse @ outputs[np.ix_(places, held.nonbasic[unused])]).T
        known = outputs[~held.basic[basics]]
        entries[:, basics] = entries[:, used] @ known[:, held.basic[used]].T
        entries[np.ix_(unused, basics)] += known[:, held.nonbasic[unused]].T
        gains = self._taus[held.basic[used]] - held.side[used] * self._prices[held.basic[used]]
        held.gradient[:n_columns] = entries[:, used] @ gains
        held.gradient[unused] += self._taus[held.nonbasic[unused]]

    def _settle(self) -> None:
        """Give all variables their own limits, and the values that follow."""
        held, (n_rows, n_columns) = self._held, self._size
        held.row_limit[:n_rows] = self._limits_of(held.basic[:n_rows])
        held.column_limit[:n_columns] = self._limits_of(held.nonbasic[:n_columns])
        held.at[:n_columns] = np.sign(held.at[:n_columns]) * held.column_limit[:n_columns]
        held.value[:n_rows] = held.at[:n_columns] @ held.entries[:n_columns, :n_rows]

    def _limits_of(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        limits = np.empty(len(ids))
        is_rule = ids >= 0
        limits[is_rule], limits[~is_rule] = self._prices[ids[is_rule]], self._limits[~ids[~is_rule]]
        return limits

    def _nonbasic_margins(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The columns of margins at their limits, and the places of their rows."""
        nonbasic = self._held.nonbasic[: self._size.n_columns]
        columns = np.flatnonzero(nonbasic < 0)
        return columns, ~nonbasic[columns]

    def _by_rule(self, by_row: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the dictionary's rows hold (row,) of the rules, (rule,); nonbasic ones have zero."""
        basic = self._held.basic[: self._size.n_rows]
        found = np.zeros(self._size.n_columns)
        found[basic[basic >= 0]] = by_row[basic >= 0]
        return found
