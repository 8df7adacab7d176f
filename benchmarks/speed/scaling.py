"""Growth of the fit time when the number of rows doubles.

A tree of balanced splits down to single rows processes each row about log2(n) times. From 100,000 to 200,000 rows, this
amounts to 2.12 times the work, so a ratio slightly above two is optimal.
"""

from collections.abc import Iterator

import numpy as np

from benchmarks.data import Table
from benchmarks.report import Row, Target, seconds
from benchmarks.settings import Settings
from benchmarks.speed.contenders import EstimatorFactory, forests
from benchmarks.speed.timing import TimedFit

SIZES = (100_000, 200_000, 400_000, 800_000)
THEIR_SIZES = SIZES[:2]
N_FEATURES, N_INFORMATIVE, N_CLASSES = 50, 10, 5
TARGET = Target(2.3, 2.15, is_least=False)
#: Fewer trees than in other workloads: the time is linear in their number, which does not affect the growth.
TREE_DIVISOR = 5


def synthetic_table(n_rows: int) -> Table:
    """Return normal features and the class with the largest of five random quadratic scores of ten features.

    A random tenth of the labels is replaced by random classes.
    """
    generator = np.random.default_rng(0)
    X = generator.standard_normal((n_rows, N_FEATURES), dtype=np.float32)
    linear, square = generator.standard_normal((2, N_INFORMATIVE, N_CLASSES)).astype(np.float32)
    informative = X[:, :N_INFORMATIVE]
    y = (informative @ linear + informative**2 @ square).argmax(axis=1)
    is_replaced = generator.random(n_rows) < 0.1
    y[is_replaced] = generator.integers(0, N_CLASSES, is_replaced.sum())
    return Table("synthetic", X, y, X[:1000], y[:1000])


def fit_times(make: EstimatorFactory, table: Table, sizes: tuple[int, ...], repeats: int) -> np.ndarray:
    """Return the fit times in seconds, (repeat, size); each repeat measures all sizes."""
    fits = [TimedFit(make, table.first_rows(n_rows)) for n_rows in sizes]
    return np.array([[fit() for fit in fits] for _ in range(repeats)])


def rows(settings: Settings) -> Iterator[Row]:
    settings = settings._replace(trees=max(1, settings.trees // TREE_DIVISOR))
    sizes = tuple(min(n_rows, settings.rows * n_rows // SIZES[0]) if settings.rows else n_rows for n_rows in SIZES)
    table = synthetic_table(sizes[-1])
    pair = forests(settings)
    theirs = fit_times(pair.theirs, table, sizes[: len(THEIR_SIZES)], 1)[0]
    ours = fit_times(pair.ours, table, sizes, settings.repeats)
    for i, n_rows in enumerate(sizes[:-1]):
        their_time = f"{seconds([theirs[i]])} → {seconds([theirs[i + 1]])}" if i + 1 < len(theirs) else "–"
        note = f"scikit-learn: {theirs[i + 1] / theirs[i]:.2f} x" if i + 1 < len(theirs) else ""
        yield Row(
            f"scaling: {n_rows:,} → {sizes[i + 1]:,} rows, {N_FEATURES} features, forest of {settings.trees}",
            f"{seconds(ours[:, i])} → {seconds(ours[:, i + 1])}",
            their_time,
            list(ours[:, i + 1] / ours[:, i]),
            TARGET,
            note,
        )
