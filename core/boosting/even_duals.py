"""Row weights for the next rule that do not hang on which optimum the solver stopped at.

The dual (17) of minimax boosting has many optima, and a simplex solver stops at one where as few rows as there are
rules carry all of alpha and beta. A tree grown on such weights chases those few rows. Among the optima the most even
one is worth more: the rows that a rule holds at the limit share the burden. It comes from a penalty in place of the
limit,

    minimise  1/2 - tau mu + lambda ||mu||_1 + sharpness / 2 * sum_i p_i max(|u_i mu| - 1/2, 0)^2

whose minimum gives alpha_i - beta_i = sharpness p_i sign(u_i mu) max(|u_i mu| - 1/2, 0). These are feasible for (17),
so that (1 - ||alpha - beta||_1) / 2 is a lower bound on R, and of all that come as near to it they have the least sum
of squares. The minimum moves little from round to round; a few sweeps of coordinate descent follow it.
"""

import numpy as np
from numpy.typing import NDArray

from core.boosting.minimax_simplex import MARGIN_LIMIT
from core.boosting.rule_table import RuleTable

#: How hard the penalty is. Sharper comes nearer to R and takes more sweeps; flatter is evener.
_SHARPNESS = 200.0
#: Sweeps a round, and the violation of (17), as a share of lambda, at which they end.
_MOST_SWEEPS = 5
_SETTLED = 0.02


class EvenDuals:
    """The penalised problem over rules of a table, one round after the other. `signs` (row,) are -1 or 1, `shares`
    (row,) are positive and sum to 1.
    """

    def __init__(
        self, table: RuleTable, signs: NDArray[np.float64], shares: NDArray[np.float64], regularization: float
    ) -> None:
        self._table = table
        self._shares = shares
        self._signed_shares = signs * shares
        self._regularization = regularization
        self._rules = np.empty(0, dtype=np.int64)
        self._weights = np.empty(0, dtype=np.float64)
        self._tau = np.empty(0, dtype=np.float64)
        self._margins = np.zeros(len(signs), dtype=np.float64)
        self._duals = np.zeros(len(signs), dtype=np.float64)
        self._steepest = 0.0  # of the last sweep

    def follow(self, rules: NDArray[np.int64]) -> None:
        """Go on with `rules`, the program's after a round: those so far without the dropped, then new ones."""
        kept = np.isin(self._rules, rules)
        new = rules[~np.isin(rules, self._rules)]
        tau = [self._table.average(self._signed_shares, rule) for rule in new.tolist()]
        if not kept.all():
            self._table.combine(self._rules[kept], self._weights[kept], self._margins)
        self._rules = np.append(self._rules[kept], new)
        self._weights = np.append(self._weights[kept], np.zeros(len(new)))
        self._tau = np.append(self._tau[kept], tau)
        self._sweep()

    @property
    def lower_bound(self) -> float:
        """On the R of the program, less what edges above lambda may be worth where the sweeps have not settled."""
        unsettled = self._steepest * np.abs(self._weights).sum()
        return float((1 - np.abs(self._duals).sum()) / 2 - unsettled)

    def signed_weights(self) -> NDArray[np.float64]:
        """w_i ytilde_i of (19), (row,)."""
        return self._signed_shares - self._duals

    def _sweep(self) -> None:
        for _ in range(_MOST_SWEEPS):
            self._steepest = self._table.sweep(
                self._rules, self._tau, self._shares, _SHARPNESS, self._regularization, self._weights, self._margins
            )
            if self._steepest <= _SETTLED * self._regularization:
                break
        beyond = np.maximum(np.abs(self._margins) - MARGIN_LIMIT, 0.0)
        self._duals = _SHARPNESS * self._shares * np.copysign(beyond, self._margins)
