"""Mazuelas and Alvarez 2025 (NeurIPS), table 3: our boosters against the published results.

python -m benchmarks.papers.minimax_boosting
python -m benchmarks.papers.minimax_boosting --partitions 10 --only rmboost "rmboost sign" --cases clean "uniform 20 %"

Protocol (section 6 and appendix H of the paper): random stratified partitions with 10 % of the rows for testing,
lambda = 1 / sqrt(training rows), noise in training labels only. Adversarial noise flips the training rows of largest
margin under a LogitBoost rule of the clean labels. The paper does not state the number of rounds; we run at most 200,
with trees of at most 10 leaves. Categories are numbered in sorted order, missing values stay missing.

A mark shows that our mean error or mean minimax risk exceeds the published value by more than two points.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as parquet
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedShuffleSplit

import core
from benchmarks.data import SHARED, data_folder
from core.noise import adversarial

FILES = {
    "titanic": "titanic",
    "german": "german_numer",
    "blood": "blood_transfusion",
    "credit": "credit",
    "diabetes": "diabetes",
    "raisin": "raisin",
}
CASES = ("clean", "uniform 10 %", "uniform 20 %", "adversarial 10 %", "adversarial 20 %")
#: Changes of parameters that may explain a cell outside of the band.
VARIANTS: dict[str, dict[str, Any]] = {
    "sign vertex": {"rule_output": "sign", "dual_solution": "vertex"},
    "sign 1,000 rounds": {"rule_output": "sign", "n_rounds": 1000, "tolerance": 0.0},
    "sign 3 leaves": {"rule_output": "sign", "max_leaf_nodes": 3},
    "sign 30 leaves": {"rule_output": "sign", "max_leaf_nodes": 30},
    "vertex": {"dual_solution": "vertex"},
    "20 rounds": {"n_rounds": 20},
    "1,000 rounds": {"n_rounds": 1000, "tolerance": 0.0},
    "3 leaves": {"max_leaf_nodes": 3},
    "30 leaves": {"max_leaf_nodes": 30},
    "resampled": {"resample": True},
}
LPBOOST_VARIANTS: dict[str, dict[str, Any]] = {
    "hard margin": {"outlier_share": None},
    "nu 0.02": {"outlier_share": 0.02},
    "nu 0.3": {"outlier_share": 0.3},
    "20 rounds": {"n_rounds": 20},
    "100 rounds": {"n_rounds": 100},
    "3 leaves": {"max_leaf_nodes": 3},
    "30 leaves": {"max_leaf_nodes": 30},
}
DEFAULT_METHODS: dict[str, tuple[str, str, dict[str, Any]]] = {  # ours -> published name, kind, parameters
    "rmboost": ("RMBoost", "rmboost", {}),
    "rmboost sign": ("RMBoost", "rmboost", {"rule_output": "sign"}),
    "adaboost": ("AdaBoost", "adaboost", {}),
    "logitboost": ("LogitBoost", "logitboost", {}),
    "gentleboost": ("GentleBoost", "gentleboost", {}),
    "lpboost": ("LPBoost", "lpboost", {}),
    "brownboost": ("BrownBoost", "brownboost", {}),
    "robustboost": ("RobustBoost", "robustboost", {}),
}
METHODS = (
    DEFAULT_METHODS
    | {f"rmboost {name}": ("RMBoost", "rmboost", changes) for name, changes in VARIANTS.items()}
    | {f"lpboost {name}": ("LPBoost", "lpboost", changes) for name, changes in LPBOOST_VARIANTS.items()}
)
N_ROUNDS = 200
BAND = 2.0  # points


class Problem(NamedTuple):
    """Partition of a data set: X (row, feature), labels 0 and 1; the training labels may be noisy."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]


def numeric_column(values: list[Any]) -> NDArray[np.float64]:
    """Return a column as numbers: texts by their position in sorted order, None as NaN."""
    if any(isinstance(value, str) for value in values):
        positions = {value: position for position, value in enumerate(sorted({v for v in values if v is not None}))}
        values = [positions.get(value) for value in values]
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def read(folder: Path, name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    table = parquet.read_table(folder / f"{FILES[name]}.parquet")
    features = [n for n in table.schema.names if not n.startswith(("target", "meta"))]
    X = np.column_stack([numeric_column(table[n].to_pylist()) for n in features])
    return X, np.unique(table["target"].to_numpy(zero_copy_only=False), return_inverse=True)[1]


def training_labels(X: NDArray[np.float64], y: NDArray[np.int64], case: str, draw: int) -> NDArray[np.int64]:
    """Return the labels (row,) with the noise of the case."""
    if case == "clean":
        return y
    kind, percent = case.split()[:2]
    return core.inject_noise(y, {"kind": kind, "rate": float(percent) / 100}, X=X, random_state=draw).labels


def partitions(X: NDArray[np.float64], y: NDArray[np.int64], case: str, n_partitions: int) -> Iterator[Problem]:
    split = StratifiedShuffleSplit(n_partitions, test_size=0.1, random_state=0)
    for draw, (train, test) in enumerate(split.split(X, y)):
        yield Problem(X[train], training_labels(X[train], y[train], case, draw), X[test], y[test])


def measure(problems: list[Problem], method: str) -> tuple[list[float], list[float]]:
    """Return the test error and the minimax risk of each partition in percent."""
    _, kind, parameters = METHODS[method]
    make: Callable[..., Any] = core.ESTIMATORS[kind]
    errors, risks = [], []
    for problem in problems:
        booster = make(random_state=0, **{"n_rounds": N_ROUNDS, **parameters})
        model = booster.fit(problem.X, problem.y)
        errors.append(100 * float(np.mean(model.predict(problem.X_test) != problem.y_test)))
        risks.append(100 * getattr(model, "minimax_risk_", np.nan))
    return errors, risks


def published_cells(path: Path) -> dict[tuple[str, str, str], float]:
    """Return (method, case, data) -> error or risk in percent; empty if the file does not exist."""
    if not path.exists():
        print(f"{path.name} does not exist; only our results are shown.")
        return {}
    rows = json.loads(path.read_text())["table3"]
    return {(row["method"], row["case"], row["data"]): row["error_percent"] for row in rows}


def format_cell(values: list[float], published: float | None) -> str:
    """Return our mean ± standard deviation (published), with a mark if our mean exceeds the band."""
    mean, spread = float(np.mean(values)), float(np.std(values))
    mark = " **!**" if published is not None and mean > published + BAND else ""
    return f"{mean:.1f} ± {spread:.1f} ({'–' if published is None else f'{published:g}'}){mark}"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, help="folder of Parquet files; default: BRISTLECONE_DATA or ../shared/data"
    )
    parser.add_argument("--published", type=Path, default=SHARED / "reference/published/rmboost.json")
    parser.add_argument("--partitions", type=int, default=100)
    parser.add_argument(
        "--reference-rounds", type=int, default=adversarial.N_ROUNDS, help="rounds of the adversary's LogitBoost"
    )
    parser.add_argument("--only", nargs="+", choices=list(METHODS), default=list(DEFAULT_METHODS))
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    adversarial.N_ROUNDS = arguments.reference_rounds
    published = published_cells(arguments.published)
    data = {name: read(data_folder(arguments.data), name) for name in FILES}
    print(f"| case | method | {' | '.join(FILES)} |\n|---|---|{'---|' * len(FILES)}", flush=True)
    for case in arguments.cases:
        problems = {name: list(partitions(X, y, case, arguments.partitions)) for name, (X, y) in data.items()}
        for method in arguments.only:
            cells = {name: measure(problems[name], method) for name in FILES}
            published_name = METHODS[method][0]
            errors = [format_cell(cells[name][0], published.get((published_name, case, name))) for name in FILES]
            print(f"| {case} | {method} | {' | '.join(errors)} |", flush=True)
            if METHODS[method][1] == "rmboost":
                risks = [format_cell(cells[name][1], published.get(("Minimax risk", case, name))) for name in FILES]
                print(f"| {case} | {method}: R | {' | '.join(risks)} |", flush=True)


if __name__ == "__main__":
    main()
