"""Noise curve of the README: test accuracy against the rate of wrong training labels.

python -m benchmarks.accuracy.noise_curve               # fit, store the cells, plot; about five minutes on one core
python -m benchmarks.accuracy.noise_curve --plot-only   # plot the stored cells again, without fitting

The data are the handwritten digits that come with scikit-learn. In each draw, 30 % of the rows are held out for testing
and keep their labels; a specified share of the training labels is replaced by another class at random (uniform noise).
All estimators see the same rows and the same wrong labels, and each has the default parameters of its library apart
from the loss and the seed. The cells are stored in docs/images/noise_curve.json, the pictures beside them, one for
light and one for dark pages. Needs the optional packages lightgbm and matplotlib: `pip install -e '.[benchmarks]'`.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import core
from benchmarks import options
from benchmarks.data import CHECKOUT

FOLDER = CHECKOUT / "docs" / "images"
CELLS = "noise_curve.json"
RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
TEST_FRACTION = 0.3


class Cell(NamedTuple):
    """Test accuracies of one estimator at one noise rate, one value per draw."""

    estimator: str
    rate: float
    accuracies: list[float]


def _lightgbm(seed: int) -> Any:
    try:
        from lightgbm import LGBMClassifier  # noqa: PLC0415  (an optional package)
    except ImportError:
        sys.exit("lightgbm is not installed; run `pip install -e '.[benchmarks]'`, or plot again with --plot-only.")
    return LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


ESTIMATORS: dict[str, Callable[[int], Any]] = {
    "auto": lambda seed: core.AutoClassifier(random_state=seed),
    "forest, adaptive NE": lambda seed: core.ForestClassifier(loss="adaptive_ne", random_state=seed),
    "forest, Gini": lambda seed: core.ForestClassifier(random_state=seed),
    "scikit-learn forest": lambda seed: RandomForestClassifier(random_state=seed),
    "LightGBM": _lightgbm,
    "tree, adaptive NE": lambda seed: core.TreeClassifier(loss="adaptive_ne", random_state=seed),
    "scikit-learn tree": lambda seed: DecisionTreeClassifier(random_state=seed),
}


def accuracies(rate: float, draw: int) -> Iterator[tuple[str, float]]:
    """Yield the name and the test accuracy of each estimator, all fitted to the same noisy labels."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=TEST_FRACTION, stratify=y, random_state=draw)
    if rate:
        y_train = core.inject_noise(y_train, {"kind": "uniform", "rate": rate}, random_state=draw).labels
    for name, make in ESTIMATORS.items():
        fitted = make(draw).fit(X_train, y_train)
        yield name, float(np.mean(fitted.predict(X_test) == y_test))


def measure(repeats: int, rates: Sequence[float]) -> list[Cell]:
    """Return the cells of all estimators, in the order of `ESTIMATORS`."""
    measured: dict[tuple[str, float], list[float]] = {(name, rate): [] for name in ESTIMATORS for rate in rates}
    for rate in rates:
        for draw in range(repeats):
            for name, accuracy in accuracies(rate, draw):
                measured[name, rate].append(round(accuracy, 4))
        print(f"rate {rate:.0%}: {repeats} draws measured", file=sys.stderr, flush=True)
    return [Cell(name, rate, values) for (name, rate), values in measured.items()]


def store(cells: list[Cell], folder: Path) -> None:
    """Write the cells into the folder, one per line."""
    lines = ",\n".join(json.dumps(cell._asdict()) for cell in cells)
    (folder / CELLS).write_text(f"[\n{lines}\n]\n")


def stored(folder: Path) -> list[Cell]:
    """Return the cells of the last measurement."""
    return [Cell(**cell) for cell in json.loads((folder / CELLS).read_text())]


def print_table(cells: list[Cell]) -> None:
    """Print mean ± standard deviation of the accuracy as a Markdown table, one line per estimator."""
    rates = sorted({cell.rate for cell in cells})
    print(f"| estimator | {' | '.join(f'{rate:.0%}' for rate in rates)} |\n| --- |{' --- |' * len(rates)}")
    for name in ESTIMATORS:
        columns = [
            f"{np.mean(cell.accuracies):.3f} ± {np.std(cell.accuracies, ddof=1):.3f}"
            for cell in cells
            if cell.estimator == name
        ]
        print(f"| {name} | {' | '.join(columns)} |")


def main() -> None:
    parser = options.program_parser("benchmarks.accuracy.noise_curve", __doc__)
    parser.add_argument("--repeats", type=int, default=10, help="splits and noise draws per rate, at least 2")
    parser.add_argument("--plot-only", action="store_true", help="plot the stored cells without fitting")
    parser.add_argument("--rates", nargs="+", type=float, default=RATES, help="shares of wrong labels")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of the cells and the pictures")
    arguments = parser.parse_args()
    if not arguments.plot_only:
        store(measure(arguments.repeats, arguments.rates), arguments.folder)
    print_table(stored(arguments.folder))
    from benchmarks.accuracy.noise_curve_picture import draw_pictures  # noqa: PLC0415  (needs matplotlib)

    draw_pictures(stored(arguments.folder), arguments.folder)


if __name__ == "__main__":
    main()
