"""Reliability of the quality of labels: the claimed and the actual share of wrong labels, as Markdown tables.

python -m benchmarks.accuracy.reliability                          # about a minute on two cores
python -m benchmarks.accuracy.reliability --rows 50000

The first table has human errors: three sets of labels of the images of CIFAR-10N, by one annotator each (`target`), the
worst of three (`target_worse`) and the majority of three (`target_aggre`). The second has noise that was injected into
the correct labels of these images and of other tables, where the model of the noise holds. Each cell contains the
number of labels, and the claimed and the actual share of wrong ones in percent.
`dispersion` and `excess` are those of `core.noise.misfit`. `slope` is the slope of a logistic regression of the actual
on the claimed log-odds, which is 1 for calibrated qualities and smaller for overconfident ones.
"""

import argparse
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import core
from benchmarks import options
from benchmarks.data import MissingData, data_folder, noise_specs, read, read_clean
from benchmarks.settings import skip

HUMAN = "cifar10n_kmeans.train"
HUMAN_LABELS = ("target", "target_worse", "target_aggre")
TABLES = ("optdigits", "vehicle", "german_numer", "covertype")
LIMITS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
HEADER = (
    "| labels | wrong: claimed ± error, actual | dispersion, excess | slope | "
    + " | ".join(f"{low:g}–{high:g}" for low, high in pairwise(LIMITS))
    + " |\n|"
    + " --- |" * (3 + len(LIMITS))
)


def slope(quality: NDArray[np.float64], wrong: NDArray[np.bool_]) -> float:
    """Return the slope of the logistic regression of `wrong` on the claimed log-odds, by Newton steps."""
    odds = np.clip(quality, 1e-6, 1 - 1e-6)
    design = np.column_stack([np.ones(len(odds)), np.log((1 - odds) / odds)])
    coefficients = np.array([0.0, 1.0])
    for _ in range(30):
        claimed = 1 / (1 + np.exp(-design @ coefficients))
        information = design.T * (claimed * (1 - claimed)) @ design
        coefficients += np.linalg.solve(information + 1e-9 * np.eye(2), design.T @ (wrong - claimed))
    return float(coefficients[1])


def line(title: str, X: NDArray[Any], labels: NDArray[Any], clean: NDArray[Any], jobs: int) -> str:
    audit = core.audit_labels(X, labels, random_state=0, n_jobs=jobs)
    noise, quality, wrong = audit.noise, audit.issues.quality, labels != clean
    cells = []
    for low, high in pairwise(LIMITS):
        inside = (quality >= low) & ((quality < high) | (high == 1.0))
        n = int(inside.sum())
        cells.append(f"{n}: {100 * (1 - quality[inside]).mean():.1f}, {100 * wrong[inside].mean():.1f}" if n else "0")
    rate = f"{noise.noise_rate:.3f} ± {noise.noise_rate_error:.3f}, {wrong.mean():.3f}"
    misfit = f"{noise.misfit.dispersion:.1f}, {noise.misfit.excess:.2f}"
    return f"| {title} | {rate} | {misfit} | {slope(quality, wrong):.2f} | {' | '.join(cells)} |"


def print_human(folder: Path, n_rows: int, jobs: int) -> None:
    rows = np.random.default_rng(0).permutation(50_000)[:n_rows]
    clean = read(folder, HUMAN, "target_clean")[1][rows]
    print(f"{HEADER}", flush=True)
    for column in HUMAN_LABELS:
        X, labels = read(folder, HUMAN, column)
        print(line(column, X[rows], labels[rows], clean, jobs), flush=True)
    X = read(folder, HUMAN)[0][rows]
    print(f"\n{HEADER}", flush=True)
    for spec in ({"kind": "uniform", "rate": 0.17}, {"kind": "class_conditional"}):
        labels = core.inject_noise(clean, spec, X=X, random_state=0).labels
        print(line(f"images, {' '.join(map(str, spec.values()))}", X, labels, clean, jobs), flush=True)


def print_injected(folder: Path, name: str, jobs: int) -> None:
    X, y = read_clean(folder, name)
    for spec in noise_specs(name):
        labels = core.inject_noise(y, spec, X=X, random_state=0).labels
        print(line(f"{name}, {' '.join(map(str, spec.values()))}", X, labels, y, jobs), flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = options.program_parser("benchmarks.accuracy.reliability", __doc__)
    options.add_data(parser)
    parser.add_argument("--rows", type=int, default=10_000, help=f"number of rows of {HUMAN}")
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=TABLES, help="tables with injected noise")
    options.add_jobs(parser)
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    folder = data_folder(arguments.data)
    try:
        print_human(folder, arguments.rows, arguments.jobs)
    except MissingData as error:
        skip(HUMAN, error)
    for name in arguments.tables:
        try:
            print_injected(folder, name, arguments.jobs)
        except MissingData as error:
            skip(name, error)


if __name__ == "__main__":
    main()
