"""Row weights for the next rule that do not hang on which optimum the solver stopped at.

The dual (17) of minimax boosting has many optima, and a simplex solver stops at one where as few rows as there are
rules carry all of alpha and beta. A tree grown on such weights chases those few rows. Among the optima the most even
one is worth more: the rows that a rule holds at the limit share the burden. It comes from a penalty in place of the
limit,

    minimise  1/2 - tau mu + lambda ||mu||_1 + sharpness / 2 * sum_i p_i max(|u_i mu| - 1/2, 0)^2

whose minimum gives alpha_i - beta_i = sharpness p_i sign(u_i mu) max(|u_i mu| - 1/2, 0). These are feasible for (17),
so that (1 - ||alpha - beta||_1) / 2 is a lower bound on R, and of all that come as near to it they have the least sum
of squares, each divided by the row's share. The minimum moves little from round to round; a few sweeps of coordinate
descent follow it, near enough to be of use: what is missing makes the bound lower.
"""

import numpy as np
from numpy.typing import NDArray

from core.boosting.rule_table import RuleTable
from core.kernels.simplex.regularized_duals import MARGIN_LIMIT, Penalty, RowState, RuleState, descend

#: How hard the penalty is. Sharper comes nearer to R and takes more sweeps; flatter is evener.
_SHARPNESS = 200.0
#: Sweeps over the rules' weights in a round, and the violation of (17), as a share of lambda, at which they end.
_MOST_SWEEPS = 20
_SETTLED = 0.02
#: With many rows a round visits fewer weights: so many rows are looked at, and at least so many weights visited. The
#: next round goes on with the others.
_MOST_ROW_VISITS = 1_000_000
_FEWEST_VISITS = 10


class EvenDuals:
    """The penalised problem over rules of a table, one round after the other. `signs` (row,) are -1 or 1, `shares`
    (row,) are positive and sum to 1.
    """

    def __init__(
        self, table: RuleTable, signs: NDArray[np.float64], shares: NDArray[np.float64], regularization: float
    ) -> None:
        self._table = table
        self._signed_shares = signs * shares
        self._penalty = Penalty(_SHARPNESS, regularization, _SETTLED * regularization)
        self._rows = RowState(table.leaves, shares, np.zeros(len(signs)), np.zeros(len(signs)))
        nothing = np.empty(0)
        self._rules = RuleState(np.empty(0, np.int64), table.leaf_outputs[:0], nothing, nothing, nothing, nothing)
        self._last = 0  # the place that was visited last
        self._most_visits = max(_MOST_ROW_VISITS // len(signs), _FEWEST_VISITS)

    def follow(self, rules: NDArray[np.int64]) -> None:
        """Go on with `rules`, the program's after a round: those so far without the dropped, then new ones."""
        self._rows = self._rows._replace(leaves=self._table.leaves)
        kept = np.isin(self._rules.numbers, rules)
        new = rules[~np.isin(rules, self._rules.numbers)]
        if not kept.all():
            self._keep(kept)
        tau = [self._table.average(self._signed_shares, rule) for rule in new.tolist()]
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
        """By how much edges of the rules were above lambda when they were last visited, at most."""
        return float(np.max(self._rules.steepness, initial=0.0))

    def lower_bound(self, edge: float, weight_norm: float) -> float:
        """On the R of the program with a rule of `edge` more, where the optimal weights have the L1 norm
        `weight_norm`: each unit of weight gains at most what the largest edge is above lambda.
        """
        signed = self.signed_weights()
        edges = [abs(self._table.average(signed, rule)) for rule in self._rules.numbers.tolist()]
        above = max(edge, *edges, self._penalty.regularization) - self._penalty.regularization
        return float((1 - np.abs(self._duals).sum()) / 2 - above * weight_norm)

    def signed_weights(self) -> NDArray[np.float64]:
        """w_i ytilde_i of (19), (row,)."""
        return self._signed_shares - self._duals

    @property
    def _duals(self) -> NDArray[np.float64]:
        return _SHARPNESS * self._rows.weighted_excess

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        rules, rows, gone = self._rules, self._rows, np.empty_like(self._rows.margins)
        self._table.combine(rules.numbers[~kept], rules.weights[~kept], gone)
        rows.margins[:] -= gone
        self._rules = RuleState._make(values[kept] for values in rules)
        excess = np.maximum(np.abs(rows.margins) - MARGIN_LIMIT, 0.0)
        rows.weighted_excess[:] = rows.shares * np.copysign(excess, rows.margins)

    def _descend(self, n_new: int) -> None:
        """Visit the new weights, and then the others in turns."""
        n_rules = len(self._rules.numbers)
        left = min(_MOST_SWEEPS * n_rules, self._most_visits)
        first = np.arange(n_rules - n_new, n_rules)
        while left > 0:
            n_others = max(min(n_rules, left) - len(first), 0)
            others = (self._last - 1 - np.arange(n_others)) % n_rules
            order = np.append(first, others)
            steepest = descend(self._rules, self._rows, order, self._penalty)
            self._last = int(order[-1])
            left -= len(order)
            first = first[:0]
            if steepest <= self._penalty.tolerance:
                break
