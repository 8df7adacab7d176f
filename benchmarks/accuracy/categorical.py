"""Command that compares native categorical splits with one-hot columns, ordinal codes and scikit-learn.

python -m benchmarks.accuracy.categorical            # accuracy on tables with categories, clean and with 20 % noise
python -m benchmarks.accuracy.categorical --orders   # gain of the order of categories, relative to the best subset
python -m benchmarks.accuracy.categorical --speed    # time of a fit with categories, relative to numbers

The generated tables have three columns of 25 to 60 levels with random effects, and three numeric ones; `noise` adds a
column of 2,000 levels without effect, `many` one of 500 levels with an effect. Codes of more than 255 levels stay
numbers in the one-hot form and for scikit-learn, which accepts no more. All figures are means over `--repeats`.
"""

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as parquet
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

import core
from benchmarks import options
from benchmarks.data import data_folder, existing_file

#: Nominal columns of the data sets; None for those whose columns are text.
NOMINAL: dict[str, tuple[str, ...] | None] = {
    "titanic": ("Pclass", "Sex_male", "Embarked_Q", "Embarked_S"),
    "credit": ("A1", "A4", "A5", "A6", "A7", "A9", "A10", "A12", "A13"),
    "keel_contraceptive": ("x4", "x5", "x6", "x8"),
    "keel_splice": None,
    "keel_tic-tac-toe": None,
    "keel_housevotes": None,
}
GENERATED = ("effects", "noise", "many", "mushrooms")
_MOST_LEVELS_OF_SCIKIT_LEARN = 255
HEADER = (
    "| table | noise | "
    + " | ".join(f"{model} {form}" for model in ("forest", "rmboost") for form in ("native", "one-hot", "ordinal"))
    + " | HistGradientBoosting |"
)


class Table(NamedTuple):
    """Rows with codes of categories in the columns `categorical`."""

    X: NDArray[np.float64]  # (row, feature)
    y: NDArray[Any]  # (row,)
    categorical: list[int]


def effects(seed: int, kind: str, n_rows: int = 10_000) -> Table:
    """Return a table whose classes depend on random effects of categories."""
    rng = np.random.default_rng(seed)
    levels = [60, 40, 25, *([500] if kind == "many" else [])]
    codes = np.column_stack([rng.integers(0, n, n_rows) for n in levels])
    numbers = rng.normal(size=(n_rows, 3))
    scores = 1.5 * sum(rng.normal(size=n)[codes[:, j]] for j, n in enumerate(levels)) + numbers @ [1.0, 0.7, 0.0]
    y = (scores + 0.4 * rng.logistic(size=n_rows) > 0).astype(int)
    noise = rng.integers(0, 2000, (n_rows, 1)) if kind == "noise" else np.empty((n_rows, 0))
    X = np.column_stack([codes, noise, numbers]).astype(np.float64)
    return Table(X, y, list(range(codes.shape[1] + noise.shape[1])))


def mushrooms(seed: int, n_rows: int = 4_000) -> Table:
    """Return a table of 22 columns of 2 to 12 levels, of which some sets determine the class."""
    rng = np.random.default_rng(seed)
    levels = (6, 4, 10, 2, 9, 2, 2, 2, 12, 2, 5, 4, 4, 9, 9, 2, 4, 3, 5, 9, 6, 7)
    X = np.column_stack([rng.integers(0, n, n_rows) for n in levels])
    y = np.isin(X[:, 4], [2, 3, 5, 7]) | ((X[:, 4] == 0) & np.isin(X[:, 19], [1, 4]) & (X[:, 10] < 3))
    y |= (X[:, 4] == 1) & np.isin(X[:, 8], [0, 3, 5]) & np.isin(X[:, 21], [1, 2, 6])
    return Table(X.astype(np.float64), y.astype(int), list(range(len(levels))))


def real(folder: Path, name: str) -> Table:
    """Return a data set with codes in its nominal columns. Raises MissingData."""
    frame = parquet.read_table(existing_file(folder, name)).to_pandas()
    features = [column for column in frame if not column.startswith(("target", "meta"))]
    nominal = NOMINAL[name] or tuple(features)
    columns = [np.unique(frame[f], return_inverse=True)[1] if f in nominal else frame[f] for f in features]
    X = np.column_stack(columns).astype(np.float64)
    return Table(X, frame["target"].to_numpy(), [j for j, feature in enumerate(features) if feature in nominal])


def with_few_levels(table: Table) -> list[int]:
    """Return the categorical columns that scikit-learn accepts."""
    return [j for j in table.categorical if len(np.unique(table.X[:, j])) <= _MOST_LEVELS_OF_SCIKIT_LEARN]


def one_hot(table: Table) -> NDArray[np.float64]:
    """Return one column per category of the columns with few levels, and the other columns as they are."""
    few = with_few_levels(table)
    levels = [(table.X[:, [j]] == np.unique(table.X[:, j])).astype(np.float64) for j in few]
    return np.column_stack([np.delete(table.X, few, axis=1), *levels])


def models(categorical: list[int] | None, seed: int) -> list[Any]:
    return [
        core.ForestClassifier(categorical_features=categorical, random_state=seed),
        core.RMBoostClassifier(categorical_features=categorical, random_state=seed),
    ]


def accuracies(table: Table, rate: float, seed: int) -> list[float]:
    """Return the test accuracies of all contenders in the order of the header."""
    order = np.random.default_rng(seed).permutation(len(table.y))
    train, test = np.split(order, [len(order) // 2 if len(order) > 5000 else int(0.7 * len(order))])
    spec = {"kind": "uniform", "rate": rate}
    y = core.inject_noise(table.y[train], spec, random_state=seed).labels if rate else table.y[train]
    forms = [(table.X, table.categorical), (one_hot(table), None), (table.X, None)]
    fitted = [[model.fit(X[train], y).score(X[test], table.y[test]) for model in models(c, seed)] for X, c in forms]
    theirs = HistGradientBoostingClassifier(categorical_features=with_few_levels(table) or None, random_state=seed)
    by_model = [form[i] for i in range(2) for form in fitted]
    return [*by_model, theirs.fit(table.X[train], y).score(table.X[test], table.y[test])]


def table_named(name: str, folder: Path, seed: int) -> Table:
    """Return a generated table, or a data set. Raises MissingData."""
    if name == "mushrooms":
        return mushrooms(seed)
    return effects(seed, name) if name in GENERATED else real(folder, name)


def print_accuracies(folder: Path, repeats: int) -> None:
    print(HEADER)
    print("|" + " --- |" * (HEADER.count("|") - 1))
    for name in (*GENERATED, *NOMINAL):
        for rate in (0.0, 0.2):
            mean = np.mean([accuracies(table_named(name, folder, seed), rate, seed) for seed in range(repeats)], axis=0)
            print(f"| {name} | {rate:.0%} | " + " | ".join(f"{value:.3f}" for value in mean) + " |", flush=True)


def gini_risks(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weight times Gini impurity of class weights (side, class)."""
    totals = weights.sum(axis=1)
    return np.asarray(totals - np.square(weights).sum(axis=1) / np.maximum(totals, 1e-300))


def entropy_risks(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weight times entropy of class weights (side, class)."""
    totals = np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(-(weights * np.log(np.where(weights > 0, weights / totals, 1))).sum(axis=1))


def share_of_best_gain(loss: str, n_classes: int, n_levels: int, rng: np.random.Generator) -> float | None:
    """Return the gain of the split of a tree, as a share of the best gain over all subsets; None if there is none."""
    shares = rng.dirichlet(np.full(n_classes, rng.choice([0.3, 1, 3])), n_levels)
    table = np.array([rng.multinomial(rng.poisson(20) + 1, p) for p in shares])
    X = np.repeat(np.arange(n_levels), table.sum(axis=1))[:, np.newaxis]
    y = np.concatenate([np.repeat(np.arange(n_classes), counts) for counts in table])
    risks = gini_risks if loss == "gini" else entropy_risks
    subsets = (np.arange(1, 2 ** (n_levels - 1))[:, np.newaxis] >> np.arange(n_levels)) & 1
    left, whole = (subsets @ table).astype(np.float64), table.sum(axis=0).astype(np.float64)
    best = float(risks(whole[np.newaxis])[0] - (risks(left) + risks(whole - left)).min())
    grown = core.TreeClassifier(loss=loss, categorical_features=[0], max_depth=1).fit(X, y).tree_
    mass = grown.weighted_n_node_samples * grown.impurity
    return float(mass[0] - mass[1:].sum()) / best if best > 1e-9 and grown.node_count == 3 else None


def print_orders(repeats: int) -> None:
    print("| loss | classes | levels | mean share of the best gain | least |\n| --- | --- | --- | --- | --- |")
    for loss in ("gini", "entropy"):
        for n_classes in (2, 3, 5, 10):
            rng = np.random.default_rng(0)
            drawn = [share_of_best_gain(loss, n_classes, 8, rng) for _ in range(100 * repeats)]
            shares = [share for share in drawn if share is not None]
            print(f"| {loss} | {n_classes} | 8 | {np.mean(shares):.4f} | {min(shares):.3f} |", flush=True)


def processor_seconds(model: Any, X: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def rows_with_many_levels(n_classes: int, n_rows: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return rows of 20 columns with 10 to 60 levels, and their classes."""
    rng = np.random.default_rng(0)
    levels = rng.integers(10, 61, 20)
    X = np.column_stack([rng.integers(0, n, n_rows) for n in levels]).astype(np.float64)
    scores = np.zeros((len(X), n_classes))
    for j, n in enumerate(levels):
        scores += rng.normal(size=(n, n_classes))[X[:, j].astype(int)] / 2
    return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


def contenders(categorical: list[int] | None) -> dict[str, Any]:
    return {
        "tree": core.TreeClassifier(categorical_features=categorical, random_state=0),
        "forest": core.ForestClassifier(n_estimators=10, categorical_features=categorical, random_state=0),
        "extra_trees": core.ExtraTreesClassifier(n_estimators=10, categorical_features=categorical, random_state=0),
        "adaboost": core.AdaBoostClassifier(n_rounds=20, categorical_features=categorical, random_state=0),
    }


def print_speed(repeats: int, n_rows: int) -> None:
    print("| classes | model | as numbers, s | as categories, s | ratio |\n| --- | --- | --- | --- | --- |")
    for n_classes in (2, 5):
        X, y = rows_with_many_levels(n_classes, n_rows)
        plain, native = contenders(None), contenders(list(range(X.shape[1])))
        for name in plain:
            for model in (plain[name], native[name]):
                model.fit(X[:1000], y[:1000])
            runs = [[processor_seconds(form[name], X, y) for form in (plain, native)] for _ in range(repeats)]
            seconds, ratio = np.min(runs, axis=0), np.median([b / a for a, b in runs])
            print(f"| {n_classes} | {name} | {seconds[0]:.2f} | {seconds[1]:.2f} | {ratio:.2f} |", flush=True)


def main() -> None:
    parser = options.program_parser("benchmarks.accuracy.categorical", __doc__)
    parser.add_argument("--orders", action="store_true", help="compare orders of categories with exhaustive search")
    parser.add_argument("--speed", action="store_true", help="time fits")
    options.add_data(parser)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, default=50_000, help="rows of the timed fits")
    arguments = parser.parse_args()
    if arguments.orders:
        print_orders(arguments.repeats)
    elif arguments.speed:
        print_speed(arguments.repeats, arguments.rows)
    else:
        print_accuracies(data_folder(arguments.data), arguments.repeats)


if __name__ == "__main__":
    main()
