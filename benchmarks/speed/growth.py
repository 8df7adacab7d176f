"""Growth of fit times with the number of rows: our forest and those of other libraries, as a table and for the picture.

python -m benchmarks.speed.growth                       # about ten minutes on one core, continues when repeated
python -m benchmarks.speed.growth --sizes 1000 2000 --repeats 1

Each fit has 20 trees, one thread and 50 normal features of which ten determine five classes, with 10 % random labels.
Times are processor seconds; of several repeats, the least counts.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from time import process_time
from typing import Any

from sklearn.ensemble import RandomForestClassifier

import core
from benchmarks import options
from benchmarks.cells import Cell, CellFile, default_path
from benchmarks.data import Table
from benchmarks.settings import Settings
from benchmarks.speed.contenders import warm_up
from benchmarks.speed.other_forests import lightgbm_forest, xgboost_forest
from benchmarks.speed.scaling import N_FEATURES, synthetic_table

KEY = ("model", "rows", "repeat")
SIZES = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
_SETTINGS = Settings(Path(), repeats=1, trees=20, jobs=1, rows=None)
_COMMON: dict[str, Any] = {"n_estimators": _SETTINGS.trees, "n_jobs": 1, "random_state": 0}

#: Unfitted forests by name.
MODELS: dict[str, Callable[[], Any]] = {
    "forest, Gini": lambda: core.ForestClassifier(**_COMMON),
    "forest, adaptive NE": lambda: core.ForestClassifier(loss="adaptive_ne", **_COMMON),
    "scikit-learn": lambda: RandomForestClassifier(**_COMMON),
    "LightGBM": partial(lightgbm_forest, _SETTINGS, N_FEATURES),
    "XGBoost": partial(xgboost_forest, _SETTINGS, N_FEATURES),
}


@lru_cache(maxsize=1)
def _table(n_rows: int) -> Table:
    return synthetic_table(n_rows)


@lru_cache(maxsize=1)
def _warm_up(model: str) -> None:
    warm_up(MODELS[model], _table(1_000))


def measure(model: str, rows: int, repeat: int) -> dict[str, float]:
    """Return the processor seconds of a fit. Raises ModuleNotFoundError."""
    _warm_up(model)
    table = _table(rows)
    begin = process_time()
    MODELS[model]().fit(table.X, table.y)
    return {"seconds": process_time() - begin}


def least_seconds(cells: list[Cell]) -> dict[tuple[str, int], float]:
    """Return (model, rows) -> least processor seconds of a fit."""
    found: dict[tuple[str, int], float] = {}
    for cell in cells:
        key = (cell["model"], cell["rows"])
        found[key] = min(found.get(key, cell["seconds"]), cell["seconds"])
    return found


def table_lines(cells: list[Cell]) -> Iterator[str]:
    """Yield a Markdown table of the seconds of each model."""
    found = least_seconds(cells)
    sizes = sorted({rows for _, rows in found})
    yield f"| forest | {' | '.join(f'{rows:,} rows' for rows in sizes)} |\n| --- |{' --- |' * len(sizes)}"
    for model in MODELS:
        times = [found.get((model, rows)) for rows in sizes]
        if any(times):
            yield f"| {model} | {' | '.join('–' if time is None else f'{time:.2f} s' for time in times)} |"


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = options.program_parser("benchmarks.speed.growth", __doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="numbers of rows")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cells", type=Path, default=default_path("growth"), help="file of the measured cells")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> None:
    arguments = parse_arguments(words)
    file = CellFile(arguments.cells, KEY)
    keys = [(m, size, r) for r in range(arguments.repeats) for m in arguments.models for size in arguments.sizes]
    file.fill(keys, measure, "growth")
    print("\n".join(table_lines(file.cells())))


if __name__ == "__main__":
    main()
