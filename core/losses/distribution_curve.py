"""Least risk of a distribution loss over all predictions, as a table with a proven error bound.

There are two classes, F is a cumulative distribution function, and x is the proportion of the smaller class. A finite
prediction ŷ >= 0 for the larger class has the risk (1 - x) a + x b with a = F(-ŷ) and b = F(ŷ), which is a line in x.
As ŷ goes to infinity the risk becomes x, which is misclassification. By symmetry it suffices to consider x <= 1/2. The
table holds

    C(x) = infimum of these lines over the ŷ with F(ŷ) + F(-ŷ) < 1,

that is, over the finite predictions whose risk is below x for some x. The impurity is min{x, C(x)}.

Error bound. The lines of sampled ŷ give an upper bound U of C. F is nondecreasing, so that between two samples u < v no
line lies below (1 - x) F(-v) + x F(u). The largest excess of U over these corner lines bounds its error, and samples
are added until the bound is small. U is a minimum of lines and hence concave. Between two knots the table holds the
lines of U at both knots; their minimum is exact at a kink and close to U where U is smooth. A tabulated impurity is
therefore the risk of some prediction: it is never below the infimum, and exceeds it by at most the sum of both errors.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidLoss
from core.losses.cdfs import NamedCdf
from core.monitoring import raise_if_stopped

Array = NDArray[np.float64]

#: Number of pieces of the table; it is even, and the knots are where `TabulatedImpurity` expects them.
N_PIECES = 2048
#: Samples are added where U exceeds a corner line by more than this.
SEARCH_TOLERANCE = 8e-7
#: A prediction counts as no better than infinity if F(ŷ) + F(-ŷ) is within this of 1.
SUM_TOLERANCE = 1e-9
#: The line of a new sample is kept if it lowers U by more than this.
_WORTH_ADDING = 1e-9
_ROUNDING = 1e-12
_HALF = 0.5


class Curve(NamedTuple):
    """C as `TabulatedImpurity` stores it; two-class impurities exceed the infimum by at most `error_bound`."""

    lines: Array  # (piece, 4)
    error_bound: float


class Cells(NamedTuple):
    """Intervals between adjacent samples: predictions, a and b at both ends, each (cell,)."""

    low: Array
    high: Array
    a_low: Array
    b_low: Array
    a_high: Array
    b_high: Array


class Envelope(NamedTuple):
    """Minimum of lines, from left to right: line i is the lowest up to breaks[i], then line i + 1."""

    at_zero: Array  # (line,)
    slopes: Array  # (line,), decreasing
    breaks: Array  # (line - 1,), increasing


class _Samples:
    """Evaluations of F within a budget, and the lines of the samples that are below x for some x."""

    def __init__(self, cdf: NamedCdf, name: str, stop_flag: NDArray[np.uint8] | None) -> None:
        self._cdf, self._name, self._stop_flag = cdf, name, stop_flag
        self.budget = cdf.max_evaluations
        self.a, self.b = np.empty(0), np.empty(0)

    def values(self, predictions: Array) -> tuple[Array, Array]:
        """Return a and b at `predictions` (n,). Raises InvalidLoss if F is not finite there, and FitStopped."""
        self.budget -= 2 * len(predictions)
        a, b = self._evaluate(-predictions), self._evaluate(predictions)
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            raise InvalidLoss(
                f"cdf {self._name!r} with the parameters {self._cdf.parameters} has values that are not finite; choose "
                "less extreme parameters."
            )
        return a, b

    def _evaluate(self, z: Array) -> Array:
        """Return F at z (n,), in steps between which the fit can be stopped."""
        result = np.empty(len(z))
        for first in range(0, len(z), self._cdf.max_at_once):
            raise_if_stopped(self._stop_flag)
            step = slice(first, first + self._cdf.max_at_once)
            with np.errstate(all="ignore"):
                result[step] = self._cdf.function(z[step])
        return result

    def keep(self, a: Array, b: Array) -> None:
        """Add the lines that are below x for some x."""
        better = a + b < 1.0 - SUM_TOLERANCE
        self.a, self.b = np.append(self.a, a[better]), np.append(self.b, b[better])

    def curve(self) -> Envelope:
        """Return C, or the constant 1 if no finite prediction is better than infinity."""
        return lower_envelope(np.append(self.a, 1.0), np.append(self.b - self.a, 0.0))

    def impurity(self) -> Envelope:
        """Return min{x, C(x)}."""
        return lower_envelope(np.append(self.a, 0.0), np.append(self.b - self.a, 1.0))


def lower_envelope(at_zero: Array, slopes: Array) -> Envelope:
    """Return the minimum of lines, without the lines that are nowhere the lowest."""
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
    """Return the envelope at `x`."""
    line = np.searchsorted(envelope.breaks, x)
    return np.asarray(envelope.at_zero[line] + envelope.slopes[line] * x)


def greatest_excess(envelope: Envelope, at_zero: Array, slopes: Array) -> Array:
    """Return the largest excess of the envelope over each line on 0 <= x <= 1/2.

    It is reached where the slope of the envelope passes the slope of the line.
    """
    ends = np.concatenate([[0.0], envelope.breaks, [_HALF]])
    x = np.clip(ends[np.searchsorted(-envelope.slopes, -slopes)], 0.0, _HALF)
    return np.asarray(value(envelope, x) - (at_zero + slopes * x))


def _first_cells(samples: _Samples) -> Cells:
    y = np.concatenate([[0.0], 2.0 ** np.arange(-1000, 1001, 8)])
    a, b = samples.values(y)
    samples.keep(a, b)
    return Cells(y[:-1], y[1:], a[:-1], b[:-1], a[1:], b[1:])


def _halved(cells: Cells, samples: _Samples) -> tuple[Cells, Array, Array]:
    """Return both halves of all cells, and a and b of the new samples. Wide cells are halved on a logarithmic scale."""
    wide = (cells.low > 0) & (cells.high > 4 * cells.low)
    middle = np.where(wide, np.sqrt(cells.low) * np.sqrt(cells.high), cells.low + (cells.high - cells.low) / 2)
    a, b = samples.values(middle)
    left = Cells(cells.low, middle, cells.a_low, cells.b_low, a, b)
    right = Cells(middle, cells.high, a, b, cells.a_high, cells.b_high)
    return Cells(*(np.concatenate(pair) for pair in zip(left, right, strict=True))), a, b


def _select(cells: Cells, mask: NDArray[np.bool_]) -> Cells:
    return Cells(*(column[mask] for column in cells))


def _divisible(cells: Cells) -> NDArray[np.bool_]:
    """Return which cells have a floating-point number between their ends."""
    return np.asarray(np.nextafter(cells.low, np.inf) < cells.high)


def _coarse_cells(samples: _Samples) -> Cells:
    """Return cells in which a and b change little wherever a line could be better than infinity."""
    tolerance = 2.0 / min(samples.budget // 4, 2**13)
    cells = _first_cells(samples)
    while True:
        change = (cells.a_low - cells.a_high) + (cells.b_high - cells.b_low)
        split = (change > tolerance) & (cells.a_high + cells.b_low < 1.0) & _divisible(cells)
        if not split.any() or 2 * np.count_nonzero(split) > samples.budget:
            return cells
        halves, a, b = _halved(_select(cells, split), samples)
        samples.keep(a, b)
        cells = Cells(*(np.concatenate(pair) for pair in zip(_select(cells, ~split), halves, strict=True)))


def _search(samples: _Samples) -> float:
    """Sample until no other line can be much lower than U, and return how much lower one may still be."""
    cells, bound = _coarse_cells(samples), 0.0
    least = samples.impurity()
    while True:
        excess = greatest_excess(least, cells.a_high, cells.b_low - cells.a_high)
        split = (excess > SEARCH_TOLERANCE) & _divisible(cells)
        if 2 * np.count_nonzero(split) > samples.budget:
            split[:] = False
        bound = max(bound, float(excess[~split].max(initial=0.0)))
        if not split.any():
            return bound
        cells, a, b = _halved(_select(cells, split), samples)
        lower = greatest_excess(least, a, b - a) > _WORTH_ADDING
        if lower.any():
            samples.keep(a[lower], b[lower])
            least = samples.impurity()


def knots() -> Array:
    """Return the ends x of all pieces, (N_PIECES + 1,), which are denser near 0 and 1/2."""
    lower_half = (np.arange(N_PIECES // 2 + 1) / N_PIECES) ** 2
    return np.concatenate([lower_half, _HALF - lower_half[-2::-1]])


def _tangents(envelope: Envelope, x: Array) -> Array:
    """Return the lines of the envelope at both ends of each piece, (piece, 4): value at 0 and slope, left and right."""
    left = np.searchsorted(envelope.breaks, x[:-1], side="right")
    right = np.searchsorted(envelope.breaks, x[1:], side="left")
    lines = (envelope.at_zero[left], envelope.slopes[left], envelope.at_zero[right], envelope.slopes[right])
    return np.stack(lines, axis=1)


def _gap(envelope: Envelope, x: Array, lines: Array) -> float:
    """Return the largest excess of the lower of two tangents over the envelope, which is reached where they cross.

    Pieces with C(x) >= 2 x (1 - x) throughout are ignored: there the impurity is not C, for any number of classes.
    """
    bend = lines[:, 1] - lines[:, 3]
    crossing = np.where(bend > 0, (lines[:, 2] - lines[:, 0]) / np.where(bend > 0, bend, 1.0), x[:-1])
    crossing = np.clip(crossing, x[:-1], x[1:])
    gap = lines[:, 0] + lines[:, 1] * crossing - value(envelope, crossing)
    matters = value(envelope, x[:-1]) < 2.0 * x[1:] * (1.0 - x[1:])
    return float(gap[matters].max(initial=0.0))


def tabulate(cdf: NamedCdf, name: str, stop_flag: NDArray[np.uint8] | None = None) -> Curve:
    """Return the table of C for a cumulative distribution function.

    Raises InvalidLoss if its values are not finite, and FitStopped when `stop_flag` (1,) is set.
    """
    samples = _Samples(cdf, name, stop_flag)
    unsampled = _search(samples)
    envelope, x = samples.curve(), knots()
    lines = _tangents(envelope, x)
    return Curve(lines, unsampled + _gap(envelope, x, lines) + _ROUNDING)
