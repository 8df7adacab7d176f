"""Mazuelas and Álvarez 2025, figure 5: running times of RMBoost, LPBoost and AdaBoost against the number of rows.

python -m benchmarks.papers.running_times                 # some minutes on one core, continues when repeated
python -m benchmarks.papers.running_times --sizes 100 200 --repeats 2

Protocol (appendix H.3): fits on random training rows of credit, each time divided by that for 100 rows. The paper
publishes no numbers; its RMBoost takes about as long as its LPBoost. Ours have 200 rounds of 10 leaves. RMBoost stops
earlier when no rule has an edge above lambda; `--sets` names other data sets, as QSAR is missing.
"""

import argparse
from collections.abc import Iterator
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from benchmarks.cells import Cell, CellFile
from benchmarks.data import data_folder
from benchmarks.papers.boosting_methods import make
from benchmarks.papers.boosting_problems import SMALL, read
from benchmarks.papers.published import parser

KEY = ("data", "method", "rows", "repeat")
METHODS = ("rmboost", "rmboost sign", "lpboost", "adaboost")
SIZES = (100, 200, 300, 400, 500, 600, 690)


def measure(arguments: argparse.Namespace, data: str, method: str, rows: int, repeat: int) -> dict[str, Any]:
    """Return the processor seconds and the rounds of a fit to random rows."""
    X, y = read(data_folder(arguments.data), data)
    chosen = np.random.default_rng(repeat).permutation(len(y))[:rows]
    begin = process_time()
    model = make(method).fit(X[chosen], y[chosen])
    return {"seconds": process_time() - begin, "rounds": int(model.n_rounds_)}


def table_lines(cells: list[Cell]) -> Iterator[str]:
    """Yield a Markdown table of mean seconds, and of their ratio to those of the fewest rows."""
    sizes = sorted({cell["rows"] for cell in cells})
    yield f"| data | method | {' | '.join(f'{size} rows' for size in sizes)} |\n|{' --- |' * (len(sizes) + 2)}"
    for data in SMALL:
        for method in METHODS:
            found = [cell for cell in cells if (cell["data"], cell["method"]) == (data, method)]
            times = {size: [cell["seconds"] for cell in found if cell["rows"] == size] for size in sizes}
            if found and all(times.values()):
                means = [float(np.mean(times[size])) for size in sizes]
                columns = [f"{1000 * mean:.0f} ms, {mean / means[0]:.1f}" for mean in means]
                yield f"| {data} | {method} | {' | '.join(columns)} |"


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    result = parser(__doc__, "running_times")
    result.add_argument("--sets", nargs="+", choices=SMALL, default=["credit"])
    result.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="numbers of training rows")
    result.add_argument("--repeats", type=int, default=20)
    return result.parse_args(words)


def main(words: list[str] | None = None) -> None:
    arguments = parse_arguments(words)
    file = CellFile(arguments.cells, KEY)
    if not arguments.print_only:
        keys = [
            (data, method, rows, repeat)
            for data in arguments.sets
            for repeat in range(arguments.repeats)
            for method in METHODS
            for rows in arguments.sizes
        ]
        for method in METHODS:  # compiles before anything is timed
            make(method).fit(np.eye(20), np.arange(20) % 2)
        file.fill(keys, partial(measure, arguments), "running times")
    print("\n".join(table_lines(file.cells())))


if __name__ == "__main__":
    main()
