"""Prediction time of our forests against scikit-learn's, as ratios within one run: many rows and one row.

python -m benchmarks.predict_forest --rows 20000 --features 30 --classes 7 --noise 0.4
python -m benchmarks.predict_forest --parquet train.parquet --test-parquet test.parquet --target target
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import core
from benchmarks.fit_forest import Data, made_data, stored_data


def seconds(estimator, X, calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        estimator.predict_proba(X)
    return (time.perf_counter() - start) / calls


def compare(name: str, ours, theirs, X, repeats: int, calls: tuple[int, int]) -> None:
    """Alternate, so that both meet the same neighbours on the machine. `calls`: how often ours and theirs are asked."""
    for estimator in (ours, theirs):
        estimator.predict_proba(X)
    pairs = np.array([(seconds(ours, X, calls[0]), seconds(theirs, X, calls[1])) for _ in range(repeats)])
    ours_s, theirs_s = np.median(pairs, axis=0)
    low, high = np.quantile(pairs[:, 1] / pairs[:, 0], [0.25, 0.75])
    print(
        f"{name:<34} ours {1e3 * ours_s:9.3f} ms  scikit-learn {1e3 * theirs_s:9.3f} ms  "
        f"ratio {theirs_s / ours_s:7.2f}  (quartiles of pairs {low:.2f} to {high:.2f})",
        flush=True,
    )


def fitted(data: Data, arguments):
    labels = data.y
    if arguments.noise:
        labels = core.inject_noise(data.y, {"kind": "uniform", "rate": arguments.noise}, random_state=0).labels
    shared = {"n_estimators": arguments.trees, "n_jobs": 2, "random_state": 0}
    return core.ForestClassifier(**shared).fit(data.X, labels), RandomForestClassifier(**shared).fit(data.X, labels)


def describe(ours, theirs, data: Data, arguments) -> None:
    n_nodes = sum(len(nodes.feature) for nodes in ours.trees_)
    theirs_count = sum(tree.tree_.node_count for tree in theirs.estimators_)
    print(f"{data.X.shape[0]} rows, {data.X.shape[1]} features, noise {arguments.noise}, {arguments.trees} trees")
    print(f"nodes: ours {n_nodes}, scikit-learn {theirs_count}")


def run(arguments) -> None:
    data = stored_data(arguments) if arguments.parquet else made_data(arguments)
    core.warm_up()
    ours, theirs = fitted(data, arguments)
    describe(ours, theirs, data, arguments)
    start = time.perf_counter()
    ours.predict_proba(data.X_test[:1])
    print(f"first prediction after the fit, which makes the layout: {1e3 * (time.perf_counter() - start):.0f} ms")
    many = data.X_test[: arguments.predicted]
    kinds = {
        "float32": many.astype(np.float32),
        "float64 that float32 holds": many.astype(np.float32).astype(np.float64),
        "float64": many.astype(np.float64) + 1e-3,
    }
    for jobs in (1, 2):
        ours.set_params(n_jobs=jobs)
        theirs.set_params(n_jobs=jobs)
        for kind, X in kinds.items():
            X = np.ascontiguousarray(X, dtype=np.float64 if kind.startswith("float64") else np.float32)
            compare(f"{len(X)} rows, {kind}, n_jobs={jobs}", ours, theirs, X, arguments.repeats, (1, 1))
        one = kinds["float32"][:1].copy()
        compare(f"one row, n_jobs={jobs}", ours, theirs, one, arguments.repeats, (200, 3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in [("rows", 20_000), ("features", 30), ("classes", 7), ("trees", 100), ("repeats", 11)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--predicted", type=int, default=10_000, help="rows predicted at once")
    parser.add_argument("--noise", type=float, default=0.0, help="rate of uniform label noise in the training labels")
    parser.add_argument("--parquet", type=Path, help="training table; made data without it")
    parser.add_argument("--test-parquet", type=Path)
    parser.add_argument("--target", default="target")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
