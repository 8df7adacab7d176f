"""Simplex method for problem (16) over the rows of a working set, with warm starts when rules and rows are added.

    maximize  sum_j tau_j mu_j - lambda ||mu||_1    such that  -1/2 <= m_i <= 1/2 for every row i of the working set

The dictionary has a row for each row of the working set and a column for each rule, see
core.kernels.simplex.dictionary. It stays feasible when a rule is added, so the primal method continues. Its gradients
stay optimal when a row is added, so the dual method continues.

Rules with outputs -1 or 1 make many rows identical, which would make the method stall or cycle. Each limit and each
price is therefore lowered by a small deterministic share, below the tolerance of the solution.
"""

import numpy as np
from numpy.typing import NDArray

from core.boosting.linear_programs.expandable_dictionary import empty_dictionary, perturbations, with_capacity
from core.kernels.simplex.dictionary import OPTIMAL, Outcome, Size
from core.kernels.simplex.dual import dual_simplex
from core.kernels.simplex.primal import primal_simplex
from core.kernels.simplex.regularized_duals import MARGIN_LIMIT

#: Upper limits of the shares by which limits and prices are lowered.
_LIMIT_PERTURBATION = 2e-9
_PRICE_PERTURBATION = 2e-9
#: Tolerances of values, and of gradients relative to a price.
_VALUE_TOLERANCE = 2e-11
_GRADIENT_TOLERANCE = 1e-10
#: Rounding error of gradients, which are sums of shares of rows.
_MIN_GRADIENT_TOLERANCE = 1e-14
#: Share of the tolerances that may be used to choose better pivots.
_SLACK_SHARE = 0.1


class MinimaxSimplex:
    """Linear program over the rules and rows added so far, which are numbered in the order of addition. `price` is
    lambda.
    """

    def __init__(self, price: float) -> None:
        self._price = price
        self._size = Size(0, 0)
        self._dictionary = empty_dictionary(64, 16)
        self._n_added = 0  # rules, including dropped ones
        self._taus = np.empty(0)
        self._prices = np.empty(0)
        self._limits = np.empty(0)

    def add_rule(self, tau: float, outputs: NDArray[np.float64]) -> None:
        """Add a rule with its outputs on the working set, (row,)."""
        n_rows, place = self._size
        self._dictionary = dictionary = with_capacity(self._dictionary, n_rows, place + 1)
        at_limits, places = self._nonbasic_margins()
        outputs_at_limits = outputs[places]
        column = -(outputs_at_limits @ dictionary.entries[at_limits, :n_rows])
        basics = dictionary.basic[:n_rows]
        margins = np.flatnonzero(basics < 0)
        column[margins] += outputs[~basics[margins]]
        dictionary.entries[place, :n_rows] = column
        price = self._price * (1 - _PRICE_PERTURBATION * perturbations(self._n_added))
        dictionary.nonbasic[place], dictionary.at[place], dictionary.column_limit[place] = place, 0.0, price
        dictionary.gradient[place] = tau - outputs_at_limits @ dictionary.gradient[at_limits]
        self._taus, self._prices = np.append(self._taus, tau), np.append(self._prices, price)
        self._size = Size(n_rows, place + 1)
        self._n_added += 1

    def add_rows(self, outputs: NDArray[np.float64]) -> None:
        """Add rows to the working set with the outputs of the rules, (row, rule)."""
        first, n_columns = self._size
        last = first + len(outputs)
        self._dictionary = dictionary = with_capacity(self._dictionary, last, n_columns)
        weights = np.flatnonzero(dictionary.basic[:first] >= 0)
        entries = dictionary.entries[:n_columns, weights] @ outputs[:, dictionary.basic[weights]].T
        unused = np.flatnonzero(dictionary.nonbasic[:n_columns] >= 0)
        entries[unused] += outputs[:, dictionary.nonbasic[unused]].T
        dictionary.entries[:n_columns, first:last] = entries
        limits = MARGIN_LIMIT * (1 - _LIMIT_PERTURBATION * perturbations(np.arange(first, last)))
        dictionary.basic[first:last], dictionary.side[first:last] = ~np.arange(first, last), 0.0
        self._limits = np.append(self._limits, limits)
        self._size = Size(last, n_columns)

    def drop_rules(self, dropped: NDArray[np.bool_]) -> None:
        """Remove the rules with `dropped` (rule,), whose weights are zero."""
        dictionary, (n_rows, n_columns) = self._dictionary, self._size
        nonbasic, basic = dictionary.nonbasic[:n_columns], dictionary.basic[:n_rows]
        kept = np.flatnonzero((nonbasic < 0) | ~dropped[np.maximum(nonbasic, 0)])
        for array in (
            dictionary.entries,
            dictionary.nonbasic,
            dictionary.at,
            dictionary.gradient,
            dictionary.column_limit,
        ):
            array[: len(kept)] = array[kept]
        places = np.cumsum(~dropped) - 1
        for ids in (dictionary.nonbasic[: len(kept)], basic):
            ids[ids >= 0] = places[ids[ids >= 0]]
        self._taus, self._prices = self._taus[~dropped], self._prices[~dropped]
        self._size = Size(n_rows, len(kept))

    def run(self, max_steps: int) -> Outcome:
        """Continue to the optimum in at most `max_steps` pivots of the primal and the dual method."""
        n_steps, tolerance = 0, max(_GRADIENT_TOLERANCE * self._price, _MIN_GRADIENT_TOLERANCE)
        slacks = _SLACK_SHARE * _VALUE_TOLERANCE, _SLACK_SHARE * tolerance
        while True:
            self._reset_limits()
            primal = Outcome(*primal_simplex(self._dictionary, self._size, tolerance, slacks[0], max_steps - n_steps))
            n_steps += primal.n_steps
            if primal.status != OPTIMAL:
                return primal._replace(n_steps=n_steps)
            self._reset_limits()
            n_left = max_steps - n_steps
            dual = Outcome(*dual_simplex(self._dictionary, self._size, _VALUE_TOLERANCE, slacks[1], n_left))
            n_steps += dual.n_steps
            if dual.status != OPTIMAL or primal.n_steps == 0 or dual.n_steps == 0:
                return dual._replace(n_steps=n_steps)

    def weights(self) -> NDArray[np.float64]:
        """Return mu, (rule,)."""
        return self._by_rule(self._dictionary.value[: self._size.n_rows])

    def direction(self, column: int) -> NDArray[np.float64]:
        """Return the change of the weights (rule,) along a column."""
        dictionary = self._dictionary
        sign = np.sign(dictionary.gradient[column])
        weights = self._by_rule(dictionary.entries[column, : self._size.n_rows] * sign)
        if dictionary.nonbasic[column] >= 0:
            weights[dictionary.nonbasic[column]] = sign
        return weights

    def margin_duals(self) -> NDArray[np.float64]:
        """Return alpha - beta of (17), (row,)."""
        columns, places = self._nonbasic_margins()
        duals = np.zeros(self._size.n_rows)
        duals[places] = self._dictionary.gradient[columns]
        return duals

    def edges(self) -> NDArray[np.float64]:
        """Return tau minus the contribution of the margins' duals, (rule,): the gradients of nonbasic rules, and the
        prices of basic rules with the sign of their weights.
        """
        dictionary, (n_rows, n_columns) = self._dictionary, self._size
        edges = self._by_rule(dictionary.side[:n_rows] * dictionary.row_limit[:n_rows])
        unused = np.flatnonzero(dictionary.nonbasic[:n_columns] >= 0)
        edges[dictionary.nonbasic[unused]] = dictionary.gradient[unused]
        return edges

    def gain(self) -> float:
        """Return tau mu - lambda ||mu||_1."""
        weights = self.weights()
        return float(self._taus @ weights - self._price * np.abs(weights).sum())

    def drift(self, margins: NDArray[np.float64]) -> float:
        """Return the larger deviation: of the values from the margins (row,) of the weights, or of the gradients from
        the gain.
        """
        dictionary, (n_rows, n_columns) = self._dictionary, self._size
        values = np.zeros(n_rows)
        basics = np.flatnonzero(dictionary.basic[:n_rows] < 0)
        values[~dictionary.basic[basics]] = dictionary.value[basics]
        columns, places = self._nonbasic_margins()
        values[places] = dictionary.at[columns]
        weights = self.weights()
        gain = self._taus @ weights - self._prices @ np.abs(weights)
        gap = abs(gain - dictionary.gradient[:n_columns] @ dictionary.at[:n_columns])
        return float(max(np.abs(values - margins).max(initial=0.0), gap))

    def rebuild(self, outputs: NDArray[np.float64]) -> None:
        """Recompute the dictionary for the current basis from the outputs on the working set, (row, rule)."""
        dictionary, (n_rows, n_columns) = self._dictionary, self._size
        columns, places = self._nonbasic_margins()
        unused = np.flatnonzero(dictionary.nonbasic[:n_columns] >= 0)
        used = np.flatnonzero(dictionary.basic[:n_rows] >= 0)
        basics = np.flatnonzero(dictionary.basic[:n_rows] < 0)
        entries = dictionary.entries[:n_columns, :n_rows]
        inverse = np.linalg.inv(outputs[np.ix_(places, dictionary.basic[used])])  # (used rule, nonbasic margin)
        entries[np.ix_(columns, used)] = inverse.T
        entries[np.ix_(unused, used)] = -(inverse @ outputs[np.ix_(places, dictionary.nonbasic[unused])]).T
        known = outputs[~dictionary.basic[basics]]
        entries[:, basics] = entries[:, used] @ known[:, dictionary.basic[used]].T
        entries[np.ix_(unused, basics)] += known[:, dictionary.nonbasic[unused]].T
        gains = self._taus[dictionary.basic[used]] - dictionary.side[used] * self._prices[dictionary.basic[used]]
        dictionary.gradient[:n_columns] = entries[:, used] @ gains
        dictionary.gradient[unused] += self._taus[dictionary.nonbasic[unused]]

    def _reset_limits(self) -> None:
        """Reset the limits of all variables and the values that depend on them."""
        dictionary, (n_rows, n_columns) = self._dictionary, self._size
        dictionary.row_limit[:n_rows] = self._limits_of(dictionary.basic[:n_rows])
        dictionary.column_limit[:n_columns] = self._limits_of(dictionary.nonbasic[:n_columns])
        dictionary.at[:n_columns] = np.sign(dictionary.at[:n_columns]) * dictionary.column_limit[:n_columns]
        dictionary.value[:n_rows] = dictionary.at[:n_columns] @ dictionary.entries[:n_columns, :n_rows]

    def _limits_of(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        limits = np.empty(len(ids))
        is_rule = ids >= 0
        limits[is_rule], limits[~is_rule] = self._prices[ids[is_rule]], self._limits[~ids[~is_rule]]
        return limits

    def _nonbasic_margins(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the columns of the margins at their limits, and the numbers of their rows."""
        nonbasic = self._dictionary.nonbasic[: self._size.n_columns]
        columns = np.flatnonzero(nonbasic < 0)
        return columns, ~nonbasic[columns]

    def _by_rule(self, by_row: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values (row,) of the dictionary's rows by rule, (rule,), with zero for nonbasic rules."""
        basic = self._dictionary.basic[: self._size.n_rows]
        values = np.zeros(self._size.n_columns)
        values[basic[basic >= 0]] = by_row[basic >= 0]
        return values
