"""How often the stated errors of estimated label noise hold the truth, as a Markdown table.

python -m benchmarks.noise_coverage                       # half an hour on two cores, most of it mnist
python -m benchmarks.noise_coverage --tables wdbc --repeats 50

Labels are flipped again in each repeat, and audited as `core.audit_labels` does it. The truth of the noise rate is the
share of labels that were flipped, that of a cell of the matrix what the labels were drawn with. Of numbers with a
normal spread, 68 % are within one standard error of the truth and 95 % within two; the cells of one draw go together.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import core
from benchmarks.data import NoData, data_folder, noises_of, to_flip
from benchmarks.settings import skip

TABLES = ("optdigits", "wdbc", "vehicle", "german_numer", "mnist")
HEADER = (
    "| table | noise | rate within 1 | 2 errors | off by, stated | cells within 1 | 2 errors | off by, stated |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |"
)


class Distances(NamedTuple):
    """From the truth, and the errors stated for them; any shape, the first axis is repeats."""

    distances: NDArray[np.float64]
    stated: NDArray[np.float64]

    def columns(self) -> str:
        within = [np.mean(self.distances < n * self.stated) for n in (1, 2)]
        sizes = [float(np.sqrt(np.mean(values**2))) for values in self]
        return f"{within[0]:.0%} | {within[1]:.0%} | {sizes[0]:.4f}, {sizes[1]:.4f}"


def measured(
    X: NDArray[Any], y: NDArray[np.int64], noise: dict[str, Any], repeats: int, jobs: int
) -> tuple[Distances, Distances]:
    """Of the noise rate (repeat,) and of the cells (repeat, clean, noisy)."""
    rates, cells = [], []
    for seed in range(repeats):
        noisy = core.inject_noise(y, noise, X=X, random_state=seed)
        found = core.audit_labels(X, noisy.labels, random_state=seed, n_jobs=jobs).noise
        rates.append((abs(found.noise_rate - noisy.flipped.mean()), found.noise_rate_error))
        cells.append((np.abs(found.transition.rows - noisy.transition.rows), found.standard_error))
    of_rate, of_cells = (Distances(*np.swapaxes(np.array(pairs), 0, 1)) for pairs in (rates, cells))
    return of_rate, of_cells


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.noise_coverage",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=TABLES)
    parser.add_argument("--data", type=Path, help="folder of Parquet files; ../shared/data beside the checkout if not")
    parser.add_argument("--repeats", type=int, default=20, help="draws of the noise")
    parser.add_argument("--jobs", type=int, default=2, help="threads of a fit")
    return parser.parse_args()


def main() -> None:
    arguments = parsed()
    print(HEADER, flush=True)
    for name in arguments.tables:
        try:
            X, y = to_flip(data_folder(arguments.data), name)
        except NoData as why:
            skip(name, why)
            continue
        for noise in noises_of(name):
            of_rate, of_cells = measured(X, y, noise, arguments.repeats, arguments.jobs)
            kind = " ".join(map(str, noise.values()))
            print(f"| {name} | {kind} | {of_rate.columns()} | {of_cells.columns()} |", flush=True)


if __name__ == "__main__":
    main()
