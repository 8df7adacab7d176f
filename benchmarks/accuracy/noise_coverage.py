"""Coverage of the standard errors of estimated label noise, as a Markdown table.

python -m benchmarks.accuracy.noise_coverage                       # half an hour on two cores, mostly for mnist
python -m benchmarks.accuracy.noise_coverage --tables wdbc --repeats 50

Each repeat injects new noise and audits the labels with `core.audit_labels`. The true noise rate is the fraction of
flipped labels; the true matrix is the one that the labels were drawn from. Of normally distributed estimates, 68 % are
within one standard error of the true value and 95 % within two. The cells of one draw are not independent.
"""

import argparse
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import core
from benchmarks import options
from benchmarks.data import noise_specs
from benchmarks.settings import clean_tables

TABLES = ("optdigits", "wdbc", "vehicle", "german_numer", "mnist")
HEADER = (
    "| table | noise | rate within 1 SE | 2 SE | RMS error, RMS SE | cells within 1 SE | 2 SE | RMS error, RMS SE |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |"
)


class Errors(NamedTuple):
    """Absolute errors of estimates and their standard errors; any shape, the first axis is repeats."""

    absolute: NDArray[np.float64]
    standard: NDArray[np.float64]

    def columns(self) -> str:
        within = [np.mean(self.absolute < n * self.standard) for n in (1, 2)]
        sizes = [float(np.sqrt(np.mean(values**2))) for values in self]
        return f"{within[0]:.0%} | {within[1]:.0%} | {sizes[0]:.4f}, {sizes[1]:.4f}"


def measure(
    X: NDArray[Any], y: NDArray[np.int64], noise: dict[str, Any], repeats: int, jobs: int
) -> tuple[Errors, Errors]:
    """Return the errors of the noise rate (repeat,) and of the cells (repeat, clean, noisy)."""
    rates, cells = [], []
    for seed in range(repeats):
        noisy = core.inject_noise(y, noise, X=X, random_state=seed)
        estimate = core.audit_labels(X, noisy.labels, random_state=seed, n_jobs=jobs).noise
        rates.append((abs(estimate.noise_rate - noisy.flipped.mean()), estimate.noise_rate_error))
        cells.append((np.abs(estimate.transition.rows - noisy.transition.rows), estimate.standard_error))
    rate_errors, cell_errors = (Errors(*np.swapaxes(np.array(pairs), 0, 1)) for pairs in (rates, cells))
    return rate_errors, cell_errors


def parse_arguments() -> argparse.Namespace:
    parser = options.program_parser("benchmarks.accuracy.noise_coverage", __doc__)
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=TABLES)
    options.add_data(parser)
    parser.add_argument("--repeats", type=int, default=20, help="number of noise draws")
    options.add_jobs(parser)
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    print(HEADER, flush=True)
    for name, X, y in clean_tables(arguments.data, arguments.tables):
        for noise in noise_specs(name):
            rate_errors, cell_errors = measure(X, y, noise, arguments.repeats, arguments.jobs)
            kind = " ".join(map(str, noise.values()))
            print(f"| {name} | {kind} | {rate_errors.columns()} | {cell_errors.columns()} |", flush=True)


if __name__ == "__main__":
    main()
