"""Distance of corrected accuracies from the accuracy on the true labels, as Markdown tables.

python -m benchmarks.accuracy.corrected_accuracy                   # ten noise draws per line; some minutes on two cores
python -m benchmarks.accuracy.corrected_accuracy --tables wdbc --repeats 3
python -m benchmarks.accuracy.corrected_accuracy --tables cifar10n_kmeans.train

Each repeat injects new noise into all labels of a table, so that no clean label is left for training or testing. A
forest with the loss `ne` predicts the rows of a fifth that is held out or, on tables of fewer than 5,000 rows, of five
folds. The true accuracy compares its predictions with the clean labels of the same rows. Distances are mean absolute
ones in points (percent); "held" is the share of repeats in which the 95 % interval holds the true accuracy. The columns
are: the accuracy as labeled; the backward-corrected 0-1 loss alone, `core.corrected_accuracy`; and with out-of-sample
votes, `core.estimate_label_noise`; both for the matrix that was injected and for the estimated one.
The last table has human errors, of which no matrix is known.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import core
from benchmarks import options
from benchmarks.data import MissingData, data_folder, noise_specs, read
from benchmarks.settings import skip

TABLES = {
    "optdigits": "optdigits",
    "wdbc": "wdbc",
    "german_numer": "german_numer",
    "covertype": "covertype_sample92962",
    "vehicle": "vehicle",
}
HUMAN = "cifar10n_kmeans.train"
HUMAN_LABELS = ("target", "target_worse", "target_aggre")
_MAX_ROWS = 20_000
#: Tables with fewer rows are evaluated with folds, because a fifth of them says little about a model.
_MIN_HOLDOUT_ROWS = 5_000
_COLUMNS = ("given, alone", "given, assisted", "estimated, alone", "estimated, assisted")
HEADER = (
    "| table | noise | as labeled: distance | "
    + " | ".join(f"{name}: distance, error | held" for name in _COLUMNS)
    + " |\n|"
    + " --- |" * (3 + 2 * len(_COLUMNS))
)


class Case(NamedTuple):
    """Rows with noisy and clean labels (row,), and the matrix that was injected or None."""

    X: NDArray[np.float32]
    labels: NDArray[np.int64]
    clean: NDArray[np.int64]
    transition: core.TransitionMatrix | None


class Deviation(NamedTuple):
    """Deviation of an estimated accuracy from the true one, and its standard error."""

    difference: float
    standard_error: float


def forest(seed: int, jobs: int) -> core.ForestClassifier:
    return core.ForestClassifier(loss="ne", random_state=seed, n_jobs=jobs)


def measure(case: Case, seed: int, jobs: int) -> list[Deviation]:
    """Return the deviation of the accuracy as labeled and of each column."""
    if len(case.labels) < _MIN_HOLDOUT_ROWS:
        return list(by_folds(case, seed, jobs))
    return list(by_holdout(case, seed, jobs))


def by_holdout(case: Case, seed: int, jobs: int) -> Iterator[Deviation]:
    train, test = core.split_holdout(case.labels, 0.2, random_state=seed)
    predicted = forest(seed, jobs).fit(case.X[train], case.labels[train]).predict(case.X[test])
    true = float(np.mean(predicted == case.clean[test]))
    yield Deviation(float(np.mean(predicted == case.labels[test])) - true, np.nan)
    for given in (case.transition, None):
        noise = core.estimate_label_noise(case.X[train], case.labels[train], given, random_state=seed, n_jobs=jobs)
        alone = core.corrected_accuracy(case.labels[test], predicted, given or noise.estimate)
        yield Deviation(alone.accuracy - true, alone.standard_error)
        yield _deviation(partial(noise.accuracy_on, case.X[test], case.labels[test], predicted), true)


def by_folds(case: Case, seed: int, jobs: int) -> Iterator[Deviation]:
    predicted = np.empty_like(case.labels)
    for fold in core.split_folds(case.labels, 5, random_state=seed):
        fitted = forest(fold.seed, jobs).fit(case.X[fold.train_rows], case.labels[fold.train_rows])
        predicted[fold.test_rows] = fitted.predict(case.X[fold.test_rows])
    true = float(np.mean(predicted == case.clean))
    yield Deviation(float(np.mean(predicted == case.labels)) - true, np.nan)
    for given in (case.transition, None):
        noise = core.estimate_label_noise(case.X, case.labels, given, random_state=seed, n_jobs=jobs)
        alone = core.corrected_accuracy(case.labels, predicted, given or noise.estimate)
        yield Deviation(alone.accuracy - true, alone.standard_error)
        yield _deviation(partial(noise.accuracy_on_own_rows, predicted), true)


def _deviation(corrected: Callable[[], Any], true: float) -> Deviation:
    """Return the deviation of a corrected accuracy; NaN if labels carry too little information for it."""
    try:
        result = corrected()
    except core.InvalidInput:
        return Deviation(np.nan, np.nan)
    return Deviation(result.accuracy - true, result.standard_error)


def noisy_case(X: NDArray[np.float32], y: NDArray[np.int64], spec: dict[str, Any], seed: int) -> Case:
    noisy = core.inject_noise(y, spec, X=X, random_state=seed)
    return Case(X, noisy.labels, y, noisy.transition)


def line(deviations: NDArray[np.float64]) -> str:
    """Return the columns of one line from deviations (repeat, column, 2)."""
    differences, errors = np.abs(deviations[..., 0]), deviations[..., 1]
    # Refused corrections are not counted.
    cells = [f"{100 * differences[:, 0].mean():.1f}"]
    for column in range(1, deviations.shape[1]):
        given = ~np.isnan(differences[:, column])
        if not given.any():
            cells += ["refused", "–"]
            continue
        distance, error = 100 * differences[given, column].mean(), 100 * errors[given, column].mean()
        held = np.mean(differences[given, column] <= 1.96 * errors[given, column])
        cells += [f"{distance:.1f}, {error:.1f}", f"{held:.0%}"]
    return " | ".join(cells)


def print_injected(folder: Path, name: str, arguments: argparse.Namespace) -> NDArray[np.float64]:
    """Print the lines of a table and return its deviations (line, repeat, column, 2)."""
    X, y = read(folder, TABLES[name])
    rows = np.random.default_rng(0).permutation(len(y))[:_MAX_ROWS] if len(y) > _MAX_ROWS else np.arange(len(y))
    X, y, lines = X[rows], y[rows], []
    for spec in noise_specs(name):
        repeats = [measure(noisy_case(X, y, spec, seed), seed, arguments.jobs) for seed in range(arguments.repeats)]
        lines.append(np.array(repeats))
        print(f"| {name} | {' '.join(map(str, spec.values()))} | {line(lines[-1])} |", flush=True)
    return np.array(lines)


def print_human(folder: Path, arguments: argparse.Namespace) -> None:
    print(
        "\n| labels | wrong labels | true accuracy | as labeled | corrected ± error |\n| --- | --- | --- | --- | --- |"
    )
    rows = np.random.default_rng(0).permutation(50_000)[: arguments.rows]
    clean = read(folder, HUMAN, "target_clean")[1][rows]
    for column in HUMAN_LABELS:
        X, labels = read(folder, HUMAN, column)
        X, labels = X[rows], labels[rows]
        train, test = core.split_holdout(labels, 0.2, random_state=0)
        predicted = forest(0, arguments.jobs).fit(X[train], labels[train]).predict(X[test])
        noise = core.estimate_label_noise(X[train], labels[train], random_state=0, n_jobs=arguments.jobs)
        result = noise.accuracy_on(X[test], labels[test], predicted)
        true, labeled = np.mean(predicted == clean[test]), np.mean(predicted == labels[test])
        corrected = f"{result.accuracy:.3f} ± {result.standard_error:.3f}"
        print(f"| {column} | {np.mean(labels != clean):.3f} | {true:.3f} | {labeled:.3f} | {corrected} |", flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = options.program_parser("benchmarks.accuracy.corrected_accuracy", __doc__)
    tables = [*TABLES, HUMAN]
    parser.add_argument("--tables", nargs="*", choices=tables, default=tables)
    options.add_data(parser)
    parser.add_argument("--repeats", type=int, default=10, help="number of noise draws")
    parser.add_argument("--rows", type=int, default=20_000, help=f"maximum number of rows of {HUMAN}")
    options.add_jobs(parser)
    return parser.parse_args()


def main() -> None:
    arguments, deviations = parse_arguments(), []
    folder = data_folder(arguments.data)
    print(HEADER, flush=True)
    for name in arguments.tables:
        try:
            if name in TABLES:
                deviations.append(print_injected(folder, name, arguments))
        except MissingData as error:
            skip(name, error)
    if deviations:
        lines = np.concatenate(deviations)
        print(f"| all | mean | {line(lines.reshape(-1, *lines.shape[2:]))} |", flush=True)
    if HUMAN in arguments.tables:
        try:
            print_human(folder, arguments)
        except MissingData as error:
            skip(HUMAN, error)


if __name__ == "__main__":
    main()
