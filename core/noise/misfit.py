"""Misfit of the latent-label model: whether wrong labels are as likely where votes are confident as it says.

The model assumes that within a clean class, noise does not depend on the features. It then says how many labels have
which quality (the probability that the label is right). Human errors concentrate on rows that are hard to tell apart,
so that fewer labels contradict confident votes than the model expects, and those are less often wrong. Pearson's
statistic compares the numbers of labels by quality. If it is larger than sampling explains, standard errors are
multiplied by the root of the dispersion, the statistic divided by its degrees of freedom (McCullagh and Nelder 1989,
"Generalized linear models", section 4.5), and qualities are shrunk toward their mean.

A good fit does not prove the assumption: noise that has the same effect as overlapping classes cannot be seen.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.noise.latent_labels import LatentLabels

#: Upper limits of the intervals of quality that labels are counted in, except the last.
_LIMITS = np.array([0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
#: Fewest expected labels of an interval; an interval with fewer is joined with the next one.
_MIN_EXPECTED = 10.0
_LEVEL = 0.05
#: Slope of the true log-odds of human labels in those of the model, on CIFAR-10N: `benchmarks.accuracy.reliability`.
_HUMAN_SLOPE = 0.55
_ENTRIES_PER_BLOCK = 2**20


class Misfit(NamedTuple):
    """Difference between the labels and the model of their noise."""

    dispersion: float  # statistic divided by its degrees of freedom, about 1 if the model holds
    excess: float  # in [0, 1), share of the statistic beyond its 95 % quantile; 0 if the model may hold

    @property
    def variance_factor(self) -> float:
        """Factor of the variances of all estimates."""
        return max(self.dispersion, 1.0) if self.excess else 1.0

    def shrunk(self, quality: NDArray[np.float64], mean: float) -> NDArray[np.float64]:
        """Return qualities (row,), their log-odds shrunk toward those of their mean by the excess."""
        if not self.excess:
            return quality
        from scipy.special import expit, logit  # noqa: PLC0415  (a slow import that only estimates of noise need)

        slope, center = 1.0 - self.excess * (1.0 - _HUMAN_SLOPE), logit(np.clip(mean, 1e-6, 1 - 1e-6))
        return np.asarray(expit(center + slope * (logit(np.clip(quality, 1e-12, 1 - 1e-12)) - center)))


#: Of a model that is not tested.
NO_MISFIT = Misfit(1.0, 0.0)


def compute_misfit(
    model: LatentLabels, probabilities: NDArray[np.float64], codes: NDArray[np.int64], effect: float = 1.0
) -> Misfit:
    """Return the misfit of labels with class numbers `codes` (row,) and out-of-sample probabilities (row, class).
    `effect` is the number of rows that count as one observation.
    """
    n_intervals, n_classes = len(_LIMITS) + 1, probabilities.shape[1]
    expected, observed = np.zeros(n_intervals), np.zeros(n_intervals)
    step = max(1, _ENTRIES_PER_BLOCK // n_classes)
    for first in range(0, len(codes), step):
        rows = slice(first, first + step)
        clean = model.clean_probabilities(probabilities[rows])
        label_shares = clean @ model.transition  # (row, label)
        qualities = clean * np.diag(model.transition) / label_shares
        intervals = np.searchsorted(_LIMITS, qualities, side="right")
        expected += np.bincount(intervals.ravel(), label_shares.ravel(), n_intervals)
        own = np.take_along_axis(intervals, codes[rows, np.newaxis], axis=1)[:, 0]
        observed += np.bincount(own, minlength=n_intervals)
    return _from_counts(expected / effect, observed / effect)


def _from_counts(expected: NDArray[np.float64], observed: NDArray[np.float64]) -> Misfit:
    from scipy.special import chdtri  # noqa: PLC0415  (a slow import that only estimates of noise need)

    groups = _joined(expected)
    n_groups = int(groups[-1]) + 1
    if n_groups < 2:
        return NO_MISFIT
    sums, counts = np.bincount(groups, expected), np.bincount(groups, observed)
    statistic = float(((counts - sums) ** 2 / sums).sum())
    dispersion, quantile = statistic / (n_groups - 1), float(chdtri(n_groups - 1, _LEVEL))
    return Misfit(dispersion, max(0.0, 1.0 - quantile / statistic) if statistic else 0.0)


def _joined(expected: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the number of the group of each interval, ascending, so that every group has enough expected labels."""
    groups, total = np.zeros(len(expected), dtype=np.int64), 0.0
    for interval, count in enumerate(expected):
        if interval:
            is_enough = total >= _MIN_EXPECTED and expected[interval:].sum() >= _MIN_EXPECTED
            groups[interval] = groups[interval - 1] + is_enough
            total = 0.0 if is_enough else total
        total += count
    return groups
