"""Fit times and accuracies of our forests against the random forests of LightGBM and XGBoost.

Both are forests of gradient boosters: each tree is fitted once, to the gradient at a constant prediction, with one tree
per class and the split gains of the log loss. As in ours, sqrt(features) are searched at each node. Ours are unlimited;
LightGBM's trees have at most 1,024 leaves and XGBoost's a depth of at most 12, because LightGBM reserves memory for the
histograms of all leaves. Both draw 63 % of the rows without replacement, the share of different rows in a bootstrap
sample.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.data import Table
from benchmarks.report import Row, Target, seconds
from benchmarks.settings import Settings, skip
from benchmarks.speed.contenders import forests
from benchmarks.speed.timing import TimedFit, time_alternately

TARGET = Target(1.0, 2.0)
_DISTINCT_SHARE = 0.632
_MOST_LEAVES = 1_024
_MOST_LEVELS = 12


def lightgbm_forest(settings: Settings, n_features: int) -> Any:
    """Return an unfitted forest. Raises ModuleNotFoundError."""
    from lightgbm import LGBMClassifier  # noqa: PLC0415  (an optional package)

    return LGBMClassifier(
        boosting_type="rf",
        n_estimators=settings.trees,
        num_leaves=_MOST_LEAVES,
        min_child_samples=1,
        min_child_weight=0.0,
        subsample=_DISTINCT_SHARE,
        subsample_freq=1,
        feature_fraction_bynode=math.sqrt(n_features) / n_features,
        n_jobs=settings.jobs,
        random_state=0,
        verbose=-1,
    )


def xgboost_forest(settings: Settings, n_features: int) -> Any:
    """Return an unfitted forest. Raises ModuleNotFoundError."""
    from xgboost import XGBRFClassifier  # noqa: PLC0415  (an optional package)

    return XGBRFClassifier(
        n_estimators=settings.trees,
        max_depth=_MOST_LEVELS,
        min_child_weight=0.0,
        reg_lambda=0.0,
        subsample=_DISTINCT_SHARE,
        colsample_bynode=math.sqrt(n_features) / n_features,
        n_jobs=settings.jobs,
        random_state=0,
    )


FORESTS: dict[str, Callable[[Settings, int], Any]] = {"LightGBM": lightgbm_forest, "XGBoost": xgboost_forest}


def compare(library: str, table: Table, settings: Settings) -> Row:
    """Measure the times and the accuracies of both forests. Raises ModuleNotFoundError."""
    ours = TimedFit(forests(settings).ours, table)
    theirs = TimedFit(lambda: FORESTS[library](settings, table.X.shape[1]), table)
    times = time_alternately(ours, theirs, settings.repeats)
    note = f"accuracy {ours.accuracy():.2f} / {theirs.accuracy():.2f} %"
    name = f"fit: forest, gini, {table.name}, against {library}"
    return Row(name, seconds(times.ours), seconds(times.theirs), times.speedups, TARGET, note)


def rows(settings: Settings) -> Iterator[Row]:
    for library in FORESTS:
        for table in settings.tables():
            try:
                yield compare(library, table, settings)
            except ModuleNotFoundError as error:
                skip(f"forest of {library}, {table.name}", error)
