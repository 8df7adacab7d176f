"""Accuracy of the automatic model on clean test rows after training on noisy labels, beside what a user would pick.

python -m benchmarks.auto                                 # about an hour on one core; goes on where it was stopped
python -m benchmarks.auto --tables iris wdbc --rates 0.4 --rows 600

In each draw, at most `--rows` rows of a table are drawn, and 30 % of them are held out with their clean labels. A
share of the other labels is replaced by another class at random. All models see the same rows and labels. Cells are
appended to `--cells` as they are measured, one JSON object per line; cells that the file has are not measured again.
LightGBM takes part if it is installed: `pip install -e '.[benchmarks]'`.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as parquet
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import core
from benchmarks.data import MissingData, data_folder
from benchmarks.settings import skip

TABLES = (
    "blood_transfusion", "covertype_balanced15120", "credit", "diabetes", "german_numer", "higgs_sample10984", "iris",
    "keel_contraceptive", "keel_housevotes", "keel_phoneme", "keel_ring", "keel_segment", "keel_splice",
    "keel_tic-tac-toe", "keel_vowel", "optdigits", "raisin", "susy8_sample.train", "titanic", "unsw_nb15.test",
    "vehicle", "wdbc", "wine",
)  # fmt: skip
TEST_FRACTION = 0.3
LEAF_SIZES = (1, 2, 4, 8, 16, 32, 64)
_NOT_FEATURES = ("target", "meta")


class Split(NamedTuple):
    """Training rows with noisy labels and test rows with clean ones; categories are codes."""

    X: NDArray[np.float64]  # (row, feature)
    y: NDArray[np.int64]  # (row,)
    X_test: NDArray[np.float64]  # (row, feature)
    y_test: NDArray[np.int64]  # (row,)
    categorical: list[int]  # numbers of the categorical features


class LeafTunedForest:
    """scikit-learn's forest with the leaf size that is best on a part of the noisy training rows."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def fit(self, X: Any, y: Any) -> Any:
        parts = train_test_split(X, y, test_size=0.25, random_state=self._seed)
        best = max(LEAF_SIZES, key=lambda size: self._forest(size).fit(parts[0], parts[2]).score(parts[1], parts[3]))
        return self._forest(best).fit(X, y)

    def _forest(self, leaf_size: int) -> RandomForestClassifier:
        return RandomForestClassifier(min_samples_leaf=leaf_size, random_state=self._seed)


def _lightgbm(seed: int, categorical: list[int]) -> Any:
    from lightgbm import LGBMClassifier  # noqa: PLC0415  (an optional package)

    return LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


#: Unfitted models by name, from the seed and the categorical features.
MODELS: dict[str, Callable[[int, list[int]], Any]] = {
    "LightGBM": _lightgbm,
    "scikit-learn forest": lambda seed, categorical: RandomForestClassifier(random_state=seed),
    "scikit-learn forest, leaf size tuned": lambda seed, categorical: LeafTunedForest(seed),
    "forest": lambda seed, categorical: core.ForestClassifier(random_state=seed, categorical_features=categorical),
    "forest, adaptive NE": lambda seed, categorical: core.ForestClassifier(
        loss="adaptive_ne", random_state=seed, categorical_features=categorical
    ),
    "auto": lambda seed, categorical: core.AutoClassifier(random_state=seed, categorical_features=categorical),
}


def read_split(folder: Path, name: str, rate: float, draw: int, n_rows: int) -> Split:
    """Return a split of at most `n_rows` rows. Raises MissingData."""
    path = folder / f"{name}.parquet"
    if not path.exists():
        raise MissingData(f"{path.name} is not in {folder}")
    table = parquet.read_table(path)
    order = np.random.default_rng(draw).permutation(table.num_rows)[:n_rows]
    table = table.take(order)
    names = [column for column in table.schema.names if not column.startswith(_NOT_FEATURES)]
    columns = [table[column].to_numpy() for column in names]
    y = np.unique(table["target"].to_numpy().astype(str), return_inverse=True)[1]
    X = np.column_stack([_numbers(values) for values in columns])
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=TEST_FRACTION, stratify=y, random_state=draw)
    if rate:
        y_train = core.inject_noise(y_train, {"kind": "uniform", "rate": rate}, random_state=draw).labels
    return Split(X_train, y_train, X_test, y_test, [i for i, c in enumerate(columns) if c.dtype == object])


def _numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    if values.dtype != object:
        return values.astype(np.float64)
    return np.unique(values.astype(str), return_inverse=True)[1].astype(np.float64)


def measure(split: Split, draw: int, models: list[str]) -> Iterator[tuple[str, float, float]]:
    """Yield the name, the accuracy on the clean test rows and the seconds of the fit of each model."""
    for name in models:
        started = time.perf_counter()
        try:
            model = MODELS[name](draw, split.categorical).fit(split.X, split.y)
        except ImportError as error:
            skip(name, f"{error.name} is not installed")
            continue
        seconds = time.perf_counter() - started
        yield name, float(np.mean(model.predict(split.X_test) == split.y_test)), seconds


def stored(path: Path) -> list[dict[str, Any]]:
    """Return the cells of a file, if there is one."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def print_table(cells: list[dict[str, Any]]) -> None:
    """Print the mean accuracy of each model at each rate, over the tables and draws that all models have."""
    rates = sorted({cell["rate"] for cell in cells})
    names = [name for name in MODELS if any(cell["model"] == name for cell in cells)]
    print(f"| model | {' | '.join(f'{rate:.0%}' for rate in rates)} |\n| --- |{' --- |' * len(rates)}")
    for name in names:
        print(f"| {name} | {' | '.join(_mean(cells, names, name, rate) for rate in rates)} |")


def _mean(cells: list[dict[str, Any]], names: list[str], name: str, rate: float) -> str:
    by_model: dict[str, dict[tuple[str, int], float]] = {other: {} for other in names}
    for cell in cells:
        if cell["rate"] == rate:
            by_model[cell["model"]][cell["table"], cell["draw"]] = cell["accuracy"]
    common = set.intersection(*(set(accuracies) for accuracies in by_model.values()))
    return f"{np.mean([by_model[name][key] for key in common]):.3f} ({len(common)})" if common else "–"


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.auto", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=TABLES)
    parser.add_argument("--models", nargs="*", choices=MODELS, default=list(MODELS))
    parser.add_argument("--rates", nargs="*", type=float, default=(0.0, 0.2, 0.4))
    parser.add_argument("--draws", type=int, default=1, help="splits and noise draws per table and rate")
    parser.add_argument("--rows", type=int, default=2600, help="maximum number of rows of a table")
    parser.add_argument("--data", type=Path, help="folder of Parquet files; default: ../shared/data")
    parser.add_argument("--cells", type=Path, default=Path("var/auto_cells.jsonl"), help="file of the measured cells")
    return parser.parse_args(arguments)


def run(arguments: argparse.Namespace) -> None:
    """Measure the cells that are missing."""
    arguments.cells.parent.mkdir(parents=True, exist_ok=True)
    keys = ("table", "rate", "draw", "model")
    known = {tuple(cell[key] for key in keys) for cell in stored(arguments.cells)}
    for draw in range(arguments.draws):
        for table in arguments.tables:
            for rate in arguments.rates:
                models = [name for name in arguments.models if (table, rate, draw, name) not in known]
                try:
                    split = read_split(data_folder(arguments.data), table, rate, draw, arguments.rows)
                except MissingData as error:
                    skip(table, str(error))
                    break
                for name, accuracy, seconds in measure(split, draw, models):
                    values = (table, rate, draw, name, accuracy, seconds)
                    cell = dict(zip((*keys, "accuracy", "seconds"), values, strict=True))
                    with arguments.cells.open("a") as file:
                        file.write(json.dumps(cell) + "\n")
                print(f"draw {draw}: {table} at {rate:.0%}", file=sys.stderr, flush=True)


def main() -> None:
    arguments = parse_arguments()
    run(arguments)
    print_table(stored(arguments.cells))


if __name__ == "__main__":
    main()
