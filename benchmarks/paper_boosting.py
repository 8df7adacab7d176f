"""Mazuelas and Alvarez 2025 (NeurIPS), table 3: our boosters beside the published ones.

python -m benchmarks.paper_boosting
python -m benchmarks.paper_boosting --partitions 10 --only rmboost "rmboost sign" --cases clean "uniform 20 %"

Protocol, from the paper's section 6 and appendix H: random stratified partitions with 10 % of the rows for testing,
lambda = 1 / sqrt(training rows), noise in training labels only. Adversarial noise flips the training rows of largest
margin under a LogitBoost rule of the clean labels. The paper does not state the rounds; ours are at most 200, with
trees of at most 10 leaves. Categories are numbered in their order, missing values stay missing.

A cell is "within" when our mean error is at most the published plus two points, and so is the mean minimax risk.
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
#: What a cell beyond the band may owe something to.
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
    """A partition: X (row, feature), labels 0 and 1; the training labels may be wrong."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]


def numbers(values: list[Any]) -> NDArray[np.float64]:
    """A column as numbers; texts by their place in the order, None as NaN."""
    if any(isinstance(value, str) for value in values):
        places = {value: place for place, value in enumerate(sorted({v for v in values if v is not None}))}
        values = [places.get(value) for value in values]
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def read(folder: Path, name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    table = parquet.read_table(folder / f"{FILES[name]}.parquet")
    features = [n for n in table.schema.names if not n.startswith(("target", "meta"))]
    X = np.column_stack([numbers(table[n].to_pylist()) for n in features])
    return X, np.unique(table["target"].to_numpy(zero_copy_only=False), return_inverse=True)[1]


def noisy(X: NDArray[np.float64], y: NDArray[np.int64], case: str, draw: int) -> NDArray[np.int64]:
    """Labels to train on, of which some are wrong. (row,)"""
    if case == "clean":
        return y
    kind, percent = case.split()[:2]
    return core.inject_noise(y, {"kind": kind, "rate": float(percent) / 100}, X=X, random_state=draw).labels


def problems(X: NDArray[np.float64], y: NDArray[np.int64], case: str, n_partitions: int) -> Iterator[Problem]:
    split = StratifiedShuffleSplit(n_partitions, test_size=0.1, random_state=0)
    for draw, (train, test) in enumerate(split.split(X, y)):
        yield Problem(X[train], noisy(X[train], y[train], case, draw), X[test], y[test])


def measured(of_case: list[Problem], method: str) -> tuple[list[float], list[float]]:
    """Error and minimax risk, in percent, a partition."""
    _, kind, parameters = METHODS[method]
    make: Callable[..., Any] = core.ESTIMATORS[kind]
    errors, risks = [], []
    for problem in of_case:
        booster = make(random_state=0, **{"n_rounds": N_ROUNDS, **parameters})
        model = booster.fit(problem.X, problem.y)
        errors.append(100 * float(np.mean(model.predict(problem.X_test) != problem.y_test)))
        risks.append(100 * getattr(model, "minimax_risk_", np.nan))
    return errors, risks


def published_cells(path: Path) -> dict[tuple[str, str, str], float]:
    """(method, case, data) -> error or risk in percent; empty without the file."""
    if not path.exists():
        print(f"{path.name} is not there: our figures stand alone.")
        return {}
    rows = json.loads(path.read_text())["table3"]
    return {(row["method"], row["case"], row["data"]): row["error_percent"] for row in rows}


def shown(values: list[float], published: float | None) -> str:
    """Ours ± standard deviation (published), with a mark where ours is more than the band above."""
    mean, spread = float(np.mean(values)), float(np.std(values))
    mark = " **!**" if published is not None and mean > published + BAND else ""
    return f"{mean:.1f} ± {spread:.1f} ({'–' if published is None else f'{published:g}'}){mark}"


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of Parquet files; ../shared/data beside the checkout if not")
    parser.add_argument("--published", type=Path, default=SHARED / "reference/published/rmboost.json")
    parser.add_argument("--partitions", type=int, default=100)
    parser.add_argument(
        "--reference-rounds", type=int, default=adversarial.N_ROUNDS, help="of the adversary's LogitBoost"
    )
    parser.add_argument("--only", nargs="+", choices=list(METHODS), default=list(DEFAULT_METHODS))
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    return parser.parse_args()


def main() -> None:
    arguments = parsed()
    adversarial.N_ROUNDS = arguments.reference_rounds
    published = published_cells(arguments.published)
    data = {name: read(data_folder(arguments.data), name) for name in FILES}
    print(f"| case | method | {' | '.join(FILES)} |\n|---|---|{'---|' * len(FILES)}", flush=True)
    for case in arguments.cases:
        of_case = {name: list(problems(X, y, case, arguments.partitions)) for name, (X, y) in data.items()}
        for method in arguments.only:
            cells = {name: measured(of_case[name], method) for name in FILES}
            name_of = METHODS[method][0]
            errors = [shown(cells[name][0], published.get((name_of, case, name))) for name in FILES]
            print(f"| {case} | {method} | {' | '.join(errors)} |", flush=True)
            if METHODS[method][1] == "rmboost":
                risks = [shown(cells[name][1], published.get(("Minimax risk", case, name))) for name in FILES]
                print(f"| {case} | {method}: R | {' | '.join(risks)} |", flush=True)


if __name__ == "__main__":
    main()
