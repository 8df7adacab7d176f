"""Test errors of one-versus-rest boosters on real data sets with more than two classes.

python -m benchmarks.papers.boosting_classes --partitions 5
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
from sklearn.model_selection import StratifiedShuffleSplit

import core
from benchmarks import options
from benchmarks.data import data_folder

SETS = ("vehicle", "wine", "optdigits")
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "rmboost": ("rmboost", {}),
    "rmboost sign": ("rmboost", {"rule_output": "sign"}),
    "adaboost": ("adaboost", {}),
}
N_ROUNDS = 100


def cells(path: Path, n_partitions: int) -> list[str]:
    """Return the number of classes, then the test error of each method in percent (mean ± standard deviation)."""
    table = parquet.read_table(path)
    names = [name for name in table.schema.names if not name.startswith(("target", "meta"))]
    X = np.column_stack([table[name].to_numpy() for name in names]).astype(np.float64)
    y = table["target"].to_numpy(zero_copy_only=False)
    splits = list(StratifiedShuffleSplit(n_partitions, test_size=0.2, random_state=0).split(X, y))
    columns = [f"{len(np.unique(y))}"]
    for kind, parameters in METHODS.values():
        make: Callable[..., Any] = core.ESTIMATORS[kind]
        booster = make(n_rounds=N_ROUNDS, random_state=0, **parameters)
        errors = [
            100 * float(np.mean(booster.fit(X[train], y[train]).predict(X[test]) != y[test])) for train, test in splits
        ]
        columns.append(f"{np.mean(errors):.1f} ± {np.std(errors):.1f}")
    return columns


def main() -> None:
    parser = options.program_parser("benchmarks.papers.boosting_classes", __doc__)
    options.add_data(parser)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--partitions", type=int, default=5)
    arguments = parser.parse_args()
    print(f"| set | classes | {' | '.join(METHODS)} |\n| --- | --- |{' --- |' * len(METHODS)}", flush=True)
    for name in arguments.sets:
        path = data_folder(arguments.data) / f"{name}.parquet"
        print(f"| {name} | {' | '.join(cells(path, arguments.partitions))} |", flush=True)


if __name__ == "__main__":
    main()
