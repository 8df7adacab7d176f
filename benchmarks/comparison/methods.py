"""Classifiers of the comparison, each with the defaults of its library and one thread.

Methods that know categories get them: our estimators and HistGradientBoosting as codes with the numbers of the
categorical features, LightGBM, XGBoost and CatBoost as categorical columns of a data frame. scikit-learn's forests get
codes as numbers. Methods of packages that are not installed are skipped.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

import core
from benchmarks.comparison.collection import Split
from benchmarks.settings import skip

LEAF_SIZES = (1, 2, 4, 8, 16, 32, 64)
CATBOOST_ROUNDS = 300  # the default of 1,000 takes three times as long


class Method(NamedTuple):
    """Classifier of the comparison. `make` receives the seed and the numbers of the categorical features."""

    make: Callable[[int, list[int]], Any]
    packages: tuple[str, ...] = ()  # optional packages
    takes_frame: bool = False  # categories as columns of a data frame


class LeafTunedForest:
    """scikit-learn's forest with the leaf size that is best on a quarter of the noisy training rows."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def fit(self, X: Any, y: Any) -> Any:
        parts = train_test_split(X, y, test_size=0.25, random_state=self._seed)
        best = max(LEAF_SIZES, key=lambda size: self._forest(size).fit(parts[0], parts[2]).score(parts[1], parts[3]))
        return self._forest(best).fit(X, y)

    def _forest(self, leaf_size: int) -> RandomForestClassifier:
        return RandomForestClassifier(min_samples_leaf=leaf_size, random_state=self._seed)


def _lightgbm(seed: int, categorical: list[int]) -> Any:
    return import_module("lightgbm").LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


def _xgboost(seed: int, categorical: list[int]) -> Any:
    return import_module("xgboost").XGBClassifier(random_state=seed, n_jobs=1, enable_categorical=True)


def _catboost(seed: int, categorical: list[int]) -> Any:
    return import_module("catboost").CatBoostClassifier(
        iterations=CATBOOST_ROUNDS,
        cat_features=categorical or None,
        random_seed=seed,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    )


def _clean_learning(classifier: Any, seed: int) -> Any:
    learner = import_module("cleanlab.classification").CleanLearning
    return learner(classifier, seed=seed, find_label_issues_kwargs={"n_jobs": 1})


#: The cheapest first: runs that are stopped early have compared some methods on all tables.
METHODS: dict[str, Method] = {
    "forest": Method(
        lambda seed, categorical: core.ForestClassifier(random_state=seed, categorical_features=categorical)
    ),
    "forest, adaptive NE": Method(
        lambda seed, categorical: core.ForestClassifier(
            loss="adaptive_ne", random_state=seed, categorical_features=categorical
        )
    ),
    "scikit-learn forest": Method(lambda seed, categorical: RandomForestClassifier(random_state=seed)),
    "LightGBM": Method(_lightgbm, ("lightgbm",), takes_frame=True),
    "XGBoost": Method(_xgboost, ("xgboost",), takes_frame=True),
    "HistGradientBoosting": Method(
        lambda seed, categorical: HistGradientBoostingClassifier(
            random_state=seed, categorical_features=categorical or None
        )
    ),
    "scikit-learn forest, leaf size tuned": Method(lambda seed, categorical: LeafTunedForest(seed)),
    "CleanLearning, scikit-learn forest": Method(
        lambda seed, categorical: _clean_learning(RandomForestClassifier(random_state=seed), seed), ("cleanlab",)
    ),
    "RMBoost": Method(
        lambda seed, categorical: core.RMBoostClassifier(random_state=seed, categorical_features=categorical)
    ),
    "CleanLearning, LightGBM": Method(
        lambda seed, categorical: _clean_learning(_lightgbm(seed, categorical), seed),
        ("cleanlab", "lightgbm"),
        takes_frame=True,
    ),
    "auto": Method(lambda seed, categorical: core.AutoClassifier(random_state=seed, categorical_features=categorical)),
    "CatBoost": Method(_catboost, ("catboost",), takes_frame=True),
}

OURS = ("forest", "forest, adaptive NE", "RMBoost", "auto")


def missing_packages(method: str) -> list[str]:
    """Return the optional packages of a method that are not installed."""
    return [package for package in METHODS[method].packages if find_spec(package) is None]


def installed(methods: Sequence[str]) -> list[str]:
    """Return the methods whose packages are installed, and report the others as skipped."""
    absent = {method: packages for method in methods if (packages := missing_packages(method))}
    for method, packages in absent.items():
        skip(method, f"not installed: {', '.join(packages)}; run `pip install -e '.[benchmarks]'`")
    return [method for method in methods if method not in absent]


def measure(method: str, split: Split, seed: int) -> dict[str, float]:
    """Return accuracy, log loss and Brier score on the clean test rows, and the processor seconds of the fit."""
    make, _, takes_frame = METHODS[method]
    X, X_test = _frames(split) if takes_frame else (split.X, split.X_test)
    with threadpool_limits(1):  # HistGradientBoosting has no parameter for it
        begin = time.process_time()
        fitted = make(seed, split.categorical).fit(X, split.y)
        seconds = time.process_time() - begin
        predictions = np.ravel(fitted.predict(X_test))  # CatBoost's are (row, 1)
        probabilities = fitted.predict_proba(X_test)
    return {
        "accuracy": float(np.mean(predictions == split.y_test)),
        **probability_scores(probabilities, split),
        "fit_seconds": round(seconds, 3),
    }


def probability_scores(probabilities: NDArray[np.float64], split: Split) -> dict[str, float]:
    """Return the log loss and the Brier score of probabilities (test row, class of the training rows).

    Where the probability of the true class is zero, the loss is that of 2.2e-16, the precision of float64.
    """
    classes = np.union1d(split.y, split.y_test)
    table = np.zeros((len(split.y_test), len(classes)))
    table[:, np.searchsorted(classes, np.unique(split.y))] = probabilities
    codes = np.searchsorted(classes, split.y_test)
    labels = range(len(classes))
    return {
        "log_loss": float(log_loss(codes, table, labels=labels)),
        "brier_score": float(brier_score_loss(codes, table, labels=labels, scale_by_half=False)),
    }


def _frames(split: Split) -> Iterator[pd.DataFrame]:
    """Return the training and the test rows with categorical columns; a missing category is a category of its own."""
    columns = dict(enumerate(np.concatenate([split.X, split.X_test]).T))
    frame = pd.DataFrame({f"x{i}": _categories(c) if i in split.categorical else c for i, c in columns.items()})
    return (rows.reset_index(drop=True) for rows in (frame[: len(split.X)], frame[len(split.X) :]))


def _categories(codes: NDArray[np.float64]) -> pd.Categorical:
    names = ["missing" if np.isnan(code) else str(int(code)) for code in codes]
    return pd.Categorical(names)
