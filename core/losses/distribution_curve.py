"""Least risk of a distribution loss over all predictions, as a table with a proven error bound.

Two classes, F a cumulative distribution function, x the share of the smaller class: a finite prediction ŷ >= 0 for the
larger one has the risk (1 - x) a + x b with a = F(-ŷ), b = F(ŷ), a line in x; ŷ -> infinity has the risk x, which is
misclassification. By symmetry x <= 1/2 is enough. The table holds

    C(x) = inf of these lines over the ŷ with F(ŷ) + F(-ŷ) < 1,

that is, over the finite predictions that beat infinity somewhere; the impurity is min{x, C(x)}.

Bounds. Lines of sampled ŷ give an upper bound U of C. F never falls, so that between two samples u < v no line lies
below (1 - x) F(-v) + x F(u): the largest excess of U over these corner lines bounds its error from the other side, and
samples are added until it is small. U is a minimum of lines, hence concave, and between two knots the table holds the
lines of U at both: their minimum is exact at a kink and close to U on a smooth piece. So a tabulated impurity is the
risk of some prediction, never less than the infimum, and more by no more than both errors together.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidLoss
from core.losses.cdfs import NamedCdf

Array = NDArray[np.float64]

#: Even; knots lie where `TabulatedImpurity` expects them.
N_PIECES = 2048
#: Where the corner lines come no closer than this, samples are added.
SEARCH_TOLERANCE = 8e-7
#: Predictions whose F(ŷ) + F(-ŷ) comes closer to 1 than this count as no better than infinity.
SUM_TOLERANCE = 1e-9
#: A new sample joins the lines when it lowers them by more than this.
_WORTH_ADDING = 1e-9
_ROUNDING = 1e-12
_HALF = 0.5


class Curve(NamedTuple):
    """C as `TabulatedImpurity` keeps it. Two-class impurities are at most `error_bound` above the infimum."""

    lines: Array  # (piece, 4)
    error_bound: float


class Cells(NamedTuple):
    """Gaps between neighbouring samples, (cell,) each: predictions, and a, b at both ends."""

    low: Array
    high: Array
    a_low: Array
    b_low: Array
    a_high: Array
    b_high: Array


class Envelope(NamedTuple):
    """Minimum of lines, from left to right: line i is the lowest up to breaks[i], then line i + 1."""

    at_zero: Array  # (line,)
    slopes: Array  # (line,), falling
    breaks: Array  # (line - 1,), rising


class _Samples:
    """Asks F for values, as long as it may, and keeps the lines that beat infinity."""

    def __init__(self, cdf: NamedCdf, name: str) -> None:
        self._cdf, self._name = cdf, name
        self.n_left = cdf.most_values
        self.a, self.b = np.empty(0), np.empty(0)

    def values(self, predictions: Array) -> tuple[Array, Array]:
        """a and b at `predictions` (n,)."""
        self.n_left -= 2 * len(predictions)
        with np.errstate(all="ignore"):
            a, b = self._cdf.function(-predictions), self._cdf.function(predictions)
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            raise InvalidLoss(
                f"cdf {self._name!r} with {self._cdf.parameters} gives values that are not numbers; choose parameters "
                "closer to usual ones."
            )
        return a, b

    def keep(self, a: Array, b: Array) -> None:
        better = a + b < 1.0 - SUM_TOLERANCE
        self.a, self.b = np.append(self.a, a[better]), np.append(self.b, b[better])

    def curve(self) -> Envelope:
        """C; 1 everywhere, which is never the least, when no prediction beats infinity."""
        return lower_envelope(np.append(self.a, 1.0), np.append(self.b - self.a, 0.0))

    def impurity(self) -> Envelope:
        """min{x, C(x)}."""
        return lower_envelope(np.append(self.a, 0.0), np.append(self.b - self.a, 1.0))


def lower_envelope(at_zero: Array, slopes: Array) -> Envelope:
    """The minimum of lines; each kept line is the lowest somewhere on the real axis."""
    order = np.lexsort((at_zero, -slopes))
    kept: list[tuple[float, float]] = []
    breaks: list[float] = []
    for a, s in zip(at_zero[order].tolist(), slopes[order].tolist(), strict=True):
        if kept and s == kept[-1][1]:
            continue
        while kept:
            crossing = (a - kept[-1][0]) / (kept[-1][1] - s)
            if not breaks or crossing > breaks[-1]:
                breaks.append(crossing)
                break
            kept.pop()
            breaks.pop()
        kept.append((a, s))
    lines = np.array(kept)
    return Envelope(lines[:, 0], lines[:, 1], np.array(breaks))


def value(envelope: Envelope, x: Array) -> Array:
    """The envelope at `x`."""
    line = np.searchsorted(envelope.breaks, x)
    return np.asarray(envelope.at_zero[line] + envelope.slopes[line] * x)


def greatest_excess(envelope: Envelope, at_zero: Array, slopes: Array) -> Array:
    """How far the envelope rises above each line within 0 <= x <= 1/2: most where its slope passes the line's."""
    ends = np.concatenate([[0.0], envelope.breaks, [_HALF]])
    x = np.clip(ends[np.searchsorted(-envelope.slopes, -slopes)], 0.0, _HALF)
    return np.asarray(value(envelope, x) - (at_zero + slopes * x))


def _first_cells(samples: _Samples) -> Cells:
    y = np.concatenate([[0.0], 2.0 ** np.arange(-1000, 1001, 8)])
    a, b = samples.values(y)
    samples.keep(a, b)
    return Cells(y[:-1], y[1:], a[:-1], b[:-1], a[1:], b[1:])


def _halved(cells: Cells, samples: _Samples) -> tuple[Cells, Array, Array]:
    """Both halves of all cells, and a, b of the new samples. Wide cells are halved on the scale of logarithms."""
    wide = (cells.low > 0) & (cells.high > 4 * cells.low)
    middle = np.where(wide, np.sqrt(cells.low) * np.sqrt(cells.high), cells.low + (cells.high - cells.low) / 2)
    a, b = samples.values(middle)
    left = Cells(cells.low, middle, cells.a_low, cells.b_low, a, b)
    right = Cells(middle, cells.high, a, b, cells.a_high, cells.b_high)
    return Cells(*(np.concatenate(pair) for pair in zip(left, right, strict=True))), a, b


def _chosen(cells: Cells, mask: NDArray[np.bool_]) -> Cells:
    return Cells(*(column[mask] for column in cells))


def _divisible(cells: Cells) -> NDArray[np.bool_]:
    """Cells with a number between their ends."""
    return np.asarray(np.nextafter(cells.low, np.inf) < cells.high)


def _coarse_cells(samples: _Samples) -> Cells:
    """Cells over which a and b change little, where any line could beat infinity."""
    tolerance = 2.0 / min(samples.n_left // 4, 2**13)
    cells = _first_cells(samples)
    while True:
        change = (cells.a_low - cells.a_high) + (cells.b_high - cells.b_low)
        split = (change > tolerance) & (cells.a_high + cells.b_low < 1.0) & _divisible(cells)
        if not split.any() or 2 * np.count_nonzero(split) > samples.n_left:
            return cells
        halves, a, b = _halved(_chosen(cells, split), samples)
        samples.keep(a, b)
        cells = Cells(*(np.concatenate(pair) for pair in zip(_chosen(cells, ~split), halves, strict=True)))


def _search(samples: _Samples) -> float:
    """Sample until no unsampled line can lie much lower; returns how much lower one may still lie."""
    cells, bound = _coarse_cells(samples), 0.0
    least = samples.impurity()
    while True:
        excess = greatest_excess(least, cells.a_high, cells.b_low - cells.a_high)
        split = (excess > SEARCH_TOLERANCE) & _divisible(cells)
        if 2 * np.count_nonzero(split) > samples.n_left:
            split[:] = False
        bound = max(bound, float(excess[~split].max(initial=0.0)))
        if not split.any():
            return bound
        cells, a, b = _halved(_chosen(cells, split), samples)
        lower = greatest_excess(least, a, b - a) > _WORTH_ADDING
        if lower.any():
            samples.keep(a[lower], b[lower])
            least = samples.impurity()


def knots() -> Array:
    """x of the ends of all pieces, (N_PIECES + 1,), crowded at both ends."""
    lower_half = (np.arange(N_PIECES // 2 + 1) / N_PIECES) ** 2
    return np.concatenate([lower_half, _HALF - lower_half[-2::-1]])


def _tangents(envelope: Envelope, x: Array) -> Array:
    """Lines of the envelope at both ends of every piece, (piece, 4): value at x = 0 and slope, left and right."""
    left = np.searchsorted(envelope.breaks, x[:-1], side="right")
    right = np.searchsorted(envelope.breaks, x[1:], side="left")
    lines = (envelope.at_zero[left], envelope.slopes[left], envelope.at_zero[right], envelope.slopes[right])
    return np.stack(lines, axis=1)


def _gap(envelope: Envelope, x: Array, lines: Array) -> float:
    """How far the lower of two tangents may lie above the envelope: most where they cross. Pieces with
    C(x) >= 2 x (1 - x) throughout do not count: C is never the least there, for any number of classes.
    """
    bend = lines[:, 1] - lines[:, 3]
    crossing = np.where(bend > 0, (lines[:, 2] - lines[:, 0]) / np.where(bend > 0, bend, 1.0), x[:-1])
    crossing = np.clip(crossing, x[:-1], x[1:])
    gap = lines[:, 0] + lines[:, 1] * crossing - value(envelope, crossing)
    matters = value(envelope, x[:-1]) < 2.0 * x[1:] * (1.0 - x[1:])
    return float(gap[matters].max(initial=0.0))


def tabulate(cdf: NamedCdf, name: str) -> Curve:
    """The table of C for one cumulative distribution function. Raises InvalidLoss when it gives no numbers."""
    samples = _Samples(cdf, name)
    unsampled = _search(samples)
    envelope, x = samples.curve(), knots()
    lines = _tangents(envelope, x)
    return Curve(lines, unsampled + _gap(envelope, x, lines) + _ROUNDING)
