"""Fit time and accuracy of our trees and forests against scikit-learn's, as ratios within one run.

python -m benchmarks.fit_forest --rows 20000 --features 30 --classes 7 --trees 20 --noise 0.0
python -m benchmarks.fit_forest --parquet train.parquet --test-parquet test.parquet --target target
"""

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as parquet
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import core


class Data(NamedTuple):
    X: Any
    y: Any
    X_test: Any
    y_test: Any


class Timed(NamedTuple):
    seconds: float
    accuracy: float


def made_data(arguments) -> Data:
    X, y = make_classification(
        n_samples=arguments.rows * 5 // 4,
        n_features=arguments.features,
        n_informative=arguments.features // 2,
        n_classes=arguments.classes,
        n_clusters_per_class=2,
        random_state=0,
    )
    return Data(X[: arguments.rows], y[: arguments.rows], X[arguments.rows :], y[arguments.rows :])


def table(path: Path, target: str):
    columns = parquet.read_table(path)
    X = np.column_stack([columns[n].to_numpy() for n in columns.schema.names if n != target])
    return X.astype(np.float32), columns[target].to_numpy()


def stored_data(arguments) -> Data:
    X, y = table(arguments.parquet, arguments.target)
    if arguments.test_parquet:
        return Data(X, y, *table(arguments.test_parquet, arguments.target))
    train, test = core.split_holdout(y, 0.2, random_state=0)
    return Data(X[train], y[train], X[test], y[test])


def timed_fit(estimator, data: Data, labels) -> Timed:
    start = time.perf_counter()
    estimator.fit(data.X, labels)
    return Timed(time.perf_counter() - start, estimator.score(data.X_test, data.y_test))


def timed_predict(estimator, data: Data) -> float:
    start = time.perf_counter()
    estimator.predict_proba(data.X_test[:10_000])
    return time.perf_counter() - start


def report(name: str, ours: Timed, theirs: Timed) -> None:
    seconds = (
        f"ours {ours.seconds:8.2f} s  scikit-learn {theirs.seconds:8.2f} s  ratio {theirs.seconds / ours.seconds:5.2f}"
    )
    print(f"{name:<26} {seconds}  accuracy {ours.accuracy:.4f} / {theirs.accuracy:.4f}")


def run(arguments) -> None:
    data = stored_data(arguments) if arguments.parquet else made_data(arguments)
    labels = data.y
    if arguments.noise:
        labels = core.inject_noise(data.y, {"kind": "uniform", "rate": arguments.noise}, random_state=0).labels
    print(
        f"{data.X.shape[0]} rows, {data.X.shape[1]} features, {len(np.unique(labels))} classes, noise {arguments.noise}"
    )
    core.warm_up()
    for criterion in ["gini", "entropy"]:
        ours = core.TreeClassifier(loss=criterion, n_jobs=arguments.jobs, random_state=0)
        theirs = DecisionTreeClassifier(criterion=criterion, random_state=0)
        report(f"tree {criterion}", timed_fit(ours, data, labels), timed_fit(theirs, data, labels))
    shared = {"n_estimators": arguments.trees, "n_jobs": arguments.jobs, "random_state": 0}
    forest, their_forest = core.ForestClassifier(**shared), RandomForestClassifier(**shared)
    report(f"forest gini {arguments.trees}", timed_fit(forest, data, labels), timed_fit(their_forest, data, labels))
    ours_s, theirs_s = timed_predict(forest, data), timed_predict(their_forest, data)
    print(f"{'predict_proba':<26} ours {ours_s:8.3f} s  scikit-learn {theirs_s:8.3f} s  ratio {theirs_s / ours_s:5.2f}")
    base = timed_fit(core.ForestClassifier(**shared), data, labels).seconds
    for loss in ["entropy", "misclassification", "ne", "sqrt_gini"]:
        ours = timed_fit(core.ForestClassifier(loss=loss, **shared), data, labels)
        print(
            f"forest {loss:<19} ours {ours.seconds:8.2f} s  {ours.seconds / base:5.2f} x gini"
            f"  accuracy {ours.accuracy:.4f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in [("rows", 20_000), ("features", 30), ("classes", 7), ("trees", 20), ("jobs", 2)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--noise", type=float, default=0.0, help="rate of uniform label noise in the training labels")
    parser.add_argument("--parquet", type=Path, help="training table; made data without it")
    parser.add_argument("--test-parquet", type=Path)
    parser.add_argument("--target", default="target")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
