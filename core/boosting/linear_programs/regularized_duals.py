"""Regularized duals of minimax boosting: row weights for the next rule that do not depend on the vertex at which the
solver stops.

The dual (17) of minimax boosting has many optima. A simplex solver stops at a vertex, where no more rows than there are
rules carry all of alpha and beta, and a tree grown on these weights fits those few rows. A solution that spreads the
weight over all rows whose margin constraint is active works better. It follows from a penalty in place of the
constraints,

    minimize  1/2 - tau mu + lambda ||mu||_1 + sharpness / 2 * sum_i p_i max(|u_i mu| - 1/2, 0)^2

whose minimum gives alpha_i - beta_i = sharpness p_i sign(u_i mu) max(|u_i mu| - 1/2, 0). These duals are feasible for
(17), so (1 - ||alpha - beta||_1) / 2 is a lower bound on R. Of all feasible duals with an equally good bound, they have
the smallest sum of squares, each divided by the share of its row. The minimum changes little between rounds, and a few
passes of coordinate descent follow it closely enough. An inexact minimum only lowers the bound.
"""

import numpy as np
from numpy.typing import NDArray

from core.boosting.rule_table import RuleTable
from core.kernels.simplex.regularized_duals import MARGIN_LIMIT, Penalty, RowState, RuleState, descend

#: Weight of the penalty. A larger value gives a bound closer to R and requires more passes; a smaller value spreads the
#: duals more evenly.
_SHARPNESS = 200.0
#: Limit on the passes over the rules' weights in a round, and the violation of (17), as a share of lambda, at which the
#: passes end.
_MAX_PASSES = 20
_CONVERGENCE_SHARE = 0.02
#: With many rows, a round updates only some of the weights: limits on the row updates of a round and on the number of
#: weights. The next round continues with the other weights.
_MAX_ROW_UPDATES = 1_000_000
_MIN_UPDATES = 10


class RegularizedDuals:
    """Penalized problem over rules of a table, updated in each round.

    `signs` (row,) are -1 or 1. `row_shares` (row,) are positive and sum to 1.
    """

    def __init__(
        self, table: RuleTable, signs: NDArray[np.float64], row_shares: NDArray[np.float64], regularization: float
    ) -> None:
        self._table = table
        self._signed_shares = signs * row_shares
        self._penalty = Penalty(_SHARPNESS, regularization, _CONVERGENCE_SHARE * regularization)
        self._rows = RowState(table.leaves, row_shares, np.zeros(len(signs)), np.zeros(len(signs)))
        nothing = np.empty(0)
        self._rules = RuleState(np.empty(0, np.int64), table.leaf_outputs[:0], nothing, nothing, nothing, nothing)
        self._last_updated = 0  # position of the weight that was updated last
        self._max_updates = max(_MAX_ROW_UPDATES // len(signs), _MIN_UPDATES)

    def follow(self, rules: NDArray[np.int64]) -> None:
        """Continue with `rules`, the rules of the program after a round: the earlier ones that were not dropped, then
        the new ones.
        """
        self._rows = self._rows._replace(leaves=self._table.leaves)
        kept = np.isin(self._rules.numbers, rules)
        new = rules[~np.isin(rules, self._rules.numbers)]
        if not kept.all():
            self._select(kept)
        tau = [self._table.weighted_sum(self._signed_shares, rule) for rule in new.tolist()]
        known, unknown = self._rules, np.zeros(len(new))
        self._rules = RuleState(
            np.append(known.numbers, new),
            np.concatenate([known.outputs, self._table.leaf_outputs[new]]),
            np.append(known.tau, tau),
            np.append(known.weights, unknown),
            np.append(known.curvatures, unknown),
            np.append(known.steepness, unknown + np.inf),
        )
        self._descend(len(new))

    @property
    def violation(self) -> float:
        """Largest excess of a rule's edge over lambda when its weight was last updated."""
        return float(np.max(self._rules.steepness, initial=0.0))

    def lower_bound(self, edge: float, weight_norm: float) -> float:
        """Return a lower bound on R for the program with an additional rule of this `edge`, if the optimal weights have
        the L1 norm `weight_norm`: each unit of weight gains at most the excess of the largest edge over lambda.
        """
        signed = self.signed_weights()
        edges = [abs(self._table.weighted_sum(signed, rule)) for rule in self._rules.numbers.tolist()]
        above = max(edge, *edges, self._penalty.regularization) - self._penalty.regularization
        return float((1 - np.abs(self._duals).sum()) / 2 - above * weight_norm)

    def signed_weights(self) -> NDArray[np.float64]:
        """Return w_i ytilde_i of (19), (row,)."""
        return self._signed_shares - self._duals

    @property
    def _duals(self) -> NDArray[np.float64]:
        return _SHARPNESS * self._rows.weighted_excess

    def _select(self, kept: NDArray[np.bool_]) -> None:
        rules, rows, removed_margins = self._rules, self._rows, np.empty_like(self._rows.margins)
        self._table.combine(rules.numbers[~kept], rules.weights[~kept], removed_margins)
        rows.margins[:] -= removed_margins
        self._rules = RuleState._make(values[kept] for values in rules)
        excess = np.maximum(np.abs(rows.margins) - MARGIN_LIMIT, 0.0)
        rows.weighted_excess[:] = rows.shares * np.copysign(excess, rows.margins)

    def _descend(self, n_new: int) -> None:
        """Update the new weights first, and then the others in turn."""
        n_rules = len(self._rules.numbers)
        left = min(_MAX_PASSES * n_rules, self._max_updates)
        first = np.arange(n_rules - n_new, n_rules)
        while left > 0:
            n_others = max(min(n_rules, left) - len(first), 0)
            others = (self._last_updated - 1 - np.arange(n_others)) % n_rules
            order = np.append(first, others)
            steepest = descend(self._rules, self._rows, order, self._penalty)
            self._last_updated = int(order[-1])
            left -= len(order)
            first = first[:0]
            if steepest <= self._penalty.tolerance:
                break
