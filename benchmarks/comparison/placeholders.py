"""Effect of placeholders for missing numbers on our forest and on `auto`, as a Markdown table.

python -m benchmarks.comparison.placeholders                       # a quarter of an hour on one core

In every second feature of a table of numbers, some cells of the training and of the test rows become -9999, as files
mark missing numbers. A tree only asks on which side of a threshold a value is; a model of distances has to scale the
values. At most 1,000 rows of a table are drawn, of which 30 % are held out; 20 % of the training labels are wrong.
Accuracies on the held-out rows with clean labels are in percent and means over draws.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import core
from benchmarks import options
from benchmarks.comparison.tables import PARQUET
from benchmarks.data import MissingData, data_folder
from benchmarks.settings import skip

TABLES = ("diabetes", "german_numer", "keel_phoneme", "keel_ring", "keel_segment", "raisin", "vehicle", "wdbc", "wine")
SHARES = (0.0, 0.01, 0.05)
PLACEHOLDER = -9999.0
MODELS: dict[str, Callable[..., Any]] = {"forest": core.ForestClassifier, "auto": core.AutoClassifier}


def with_placeholders(X: NDArray[np.float64], share: float, seed: int) -> NDArray[np.float64]:
    """Return X (row, feature) with placeholders in a random share of the cells of every second feature."""
    is_lost = np.random.default_rng(seed).random(X.shape) < share
    is_lost[:, 1::2] = False
    return np.where(is_lost, PLACEHOLDER, X)


def accuracies(folder: Path, name: str, draw: int, n_rows: int) -> NDArray[np.float64]:
    """Return accuracies (model, share) in percent. Raises MissingData."""
    split = PARQUET.split(folder, name, "uniform_20", draw, n_rows)
    values = np.empty((len(MODELS), len(SHARES)))
    for column, share in enumerate(SHARES):
        X, X_test = (with_placeholders(part, share, draw) for part in (split.X, split.X_test))
        for row, make in enumerate(MODELS.values()):
            fitted = make(random_state=draw, n_jobs=1).fit(X, split.y)
            values[row, column] = 100.0 * np.mean(fitted.predict(X_test) == split.y_test)
    return values


def table_lines(folder: Path, tables: Sequence[str], draws: int, n_rows: int) -> Iterator[str]:
    """Yield the table as it is measured; tables whose file is missing are skipped."""
    yield f"| table | {' | '.join(f'{model}, {share:.0%}' for model in MODELS for share in SHARES)} |"
    yield f"| --- |{' --- |' * len(MODELS) * len(SHARES)}"
    means = []
    for name in tables:
        try:
            means.append(np.mean([accuracies(folder, name, draw, n_rows) for draw in range(draws)], axis=0))
        except MissingData as error:
            skip(name, error)
            continue
        yield _line(name, means[-1])
    if means:
        yield _line("mean", np.mean(means, axis=0))


def _line(name: str, values: NDArray[np.float64]) -> str:
    return f"| {name} | {' | '.join(f'{value:.1f}' for value in values.ravel())} |"


def main(words: list[str] | None = None) -> None:
    parser = options.program_parser("benchmarks.comparison.placeholders", __doc__)
    options.add_data(parser)
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=TABLES)
    parser.add_argument("--draws", type=int, default=5, help="draws of rows, splits, noise and placeholders")
    parser.add_argument("--rows", type=int, default=1000, help="maximum number of rows of a table")
    arguments = parser.parse_args(words)
    for line in table_lines(data_folder(arguments.data), arguments.tables, arguments.draws, arguments.rows):
        print(line, flush=True)


if __name__ == "__main__":
    main()
