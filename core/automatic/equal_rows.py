"""Labels of rows whose features are equal, as a check of the estimated noise that does not depend on the votes.

Votes are divided where labels are wrong, but also where few similar rows have the same class, and the estimate of the
noise can take the second for the first. Two rows with equal features have the same true class unless the classes
overlap. So their labels disagree at least as often as errors in one of both make them disagree, unless the errors
follow the features. If they disagree significantly less often than an estimate of heavy noise implies, fewer labels are
wrong than it says.
"""

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.automatic.noise import SearchedNoise
from core.forests.fitting import Fit

#: Largest probability of so few disagreements under the estimated noise at which they contradict it.
LEVEL = 0.01


class EqualRows(NamedTuple):
    """Pairs of rows with equal features; each row is in one pair at most."""

    n_pairs: int
    n_agreeing: int  # pairs with equal labels


def contradicting_rows(fit: Fit, noise: SearchedNoise) -> EqualRows | None:
    """Return the pairs of equal rows if their labels disagree significantly less often than the estimated noise
    implies, and None otherwise.

    Errors of labels within one group may be the same, so there is no check with groups.
    """
    if fit.data.groups is not None:
        return None
    from scipy.special import bdtr  # noqa: PLC0415  (a slow import that only estimates of noise need)

    agreeing = _agreements(fit, noise.classes)
    found = EqualRows(len(agreeing), int(agreeing.sum()))
    n_disagreeing = found.n_pairs - found.n_agreeing
    return found if bdtr(n_disagreeing, found.n_pairs, smallest_disagreement(noise)) < LEVEL else None


def smallest_disagreement(noise: SearchedNoise) -> float:
    """Return the probability that two labels of rows with the same true class differ, under the estimated noise."""
    estimate = noise.fitted.estimate
    return float(1.0 - estimate.priors @ np.sum(estimate.transition.rows**2, axis=1))


def _agreements(fit: Fit, classes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each pair of equal rows with labels among `classes` whether the labels agree, (pair,)."""
    codes = fit.data.labels.codes
    unpaired: dict[bytes, int] = {}
    agreements = []
    for row in np.flatnonzero((fit.data.weights > 0) & np.isin(codes, classes)).tolist():
        features = _digest(fit.data.X[row])
        partner = unpaired.pop(features, None)
        if partner is None:
            unpaired[features] = row
        else:
            agreements.append(codes[row] == codes[partner])
    return np.array(agreements, dtype=bool)


def _digest(features: NDArray[np.floating[Any]]) -> bytes:
    """Return a digest of one row (feature,), which takes less memory; the signs of 0 and of NaN do not count."""
    same = np.where(np.isnan(features), np.nan, features + 0.0)
    return blake2b(same.tobytes(), digest_size=16).digest()
