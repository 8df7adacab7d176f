"""Estimates of label noise where a few labels are misspelled, as a Markdown table.

python -m benchmarks.accuracy.misspelled_labels                    # about two minutes on two cores

Labels are changed with uniform noise of 30 %, and then some of them are replaced by a class of their own, as a typing
error does. Each cell is the mean absolute error of the noise rate that `core.audit_labels` estimates, and the share of
the changed labels that it flags.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import core
from benchmarks import options
from benchmarks.settings import clean_tables

TABLES = ("wdbc", "vehicle", "german_numer", "optdigits")
NUMBERS = (0, 1, 5, 15)
_RATE = 0.3


class Audited(NamedTuple):
    """Results of audits, one of each repeat."""

    errors: NDArray[np.float64]  # (repeat,), of the noise rate
    found: NDArray[np.float64]  # (repeat,), share of the changed labels

    def cell(self) -> str:
        return f"{np.abs(self.errors).mean():.3f}, {self.found.mean():.0%}"


def measure(X: NDArray[Any], y: NDArray[np.int64], n_misspelled: int, repeats: int, jobs: int) -> Audited:
    """Return the results for labels of which `n_misspelled` have a class of their own."""
    results = []
    for seed in range(repeats):
        labels = core.inject_noise(y, {"kind": "uniform", "rate": _RATE}, random_state=seed).labels.copy()
        labels[np.random.default_rng(seed).choice(len(y), n_misspelled, replace=False)] = y.max() + 1
        audit = core.audit_labels(X, labels, random_state=seed, n_jobs=jobs)
        is_wrong = labels != y
        results.append((audit.noise.noise_rate - is_wrong.mean(), audit.issues.is_issue[is_wrong].mean()))
    return Audited(*np.array(results).T)


def main() -> None:
    parser = options.program_parser("benchmarks.accuracy.misspelled_labels", __doc__)
    options.add_data(parser)
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=TABLES)
    parser.add_argument("--repeats", type=int, default=5, help="number of noise draws")
    options.add_jobs(parser)
    arguments = parser.parse_args()
    print(f"| table | {' | '.join(f'{number} misspelled' for number in NUMBERS)} |\n|{' --- |' * 5}", flush=True)
    for name, X, y in clean_tables(arguments.data, arguments.tables):
        cells = [measure(X, y, number, arguments.repeats, arguments.jobs).cell() for number in NUMBERS]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
