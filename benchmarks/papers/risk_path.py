"""Minimax risk of RMBoost after each round, for the picture: python -m benchmarks.papers.risk_path [--rounds 300].

RMBoost with `rule_output="sign"`, as published, is fitted to one partition of german under each kind of noise, without
early stopping. The risk never grows; it ends when no rule has an edge above lambda.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import core
from benchmarks.cells import Cell, CellFile
from benchmarks.data import data_folder
from benchmarks.papers.boosting_problems import CASES, SMALL, problems
from benchmarks.papers.published import parser

KEY = ("data", "case", "rounds")


def measure(arguments: Any, data: str, case: str, rounds: int) -> dict[str, Any]:
    """Return the risk after each round, and the final test error, in percent."""
    (problem,) = problems(data_folder(arguments.data), data, case, 1)
    model = core.RMBoostClassifier(n_rounds=rounds, rule_output="sign", tolerance=0.0, random_state=0, n_jobs=1)
    model.fit(problem.X, problem.y)
    error = 100 * float(np.mean(model.predict(problem.X_test) != problem.y_test))
    return {"risk_path": [round(100 * float(risk), 3) for risk in model.risk_path_], "error": error}


def table_lines(cells: list[Cell]) -> Iterator[str]:
    """Yield a Markdown table of the risk after some rounds."""
    rounds = (1, 10, 50, 100, 200)
    yield f"| data | case | {' | '.join(f'round {n}' for n in rounds)} | last round | R | test error |"
    yield f"|{' --- |' * (len(rounds) + 5)}"
    for cell in cells:
        path = cell["risk_path"]
        columns = [f"{path[n - 1]:.1f}" if n <= len(path) else "–" for n in rounds]
        end = f"{len(path)} | {path[-1]:.1f} | {cell['error']:.1f}"
        yield f"| {cell['data']} | {cell['case']} | {' | '.join(columns)} | {end} |"


def parse_arguments(words: list[str] | None = None) -> Any:
    result = parser(__doc__, "risk_path")
    result.add_argument("--sets", nargs="+", choices=SMALL, default=["german"])
    result.add_argument("--rounds", type=int, default=300)
    return result.parse_args(words)


def main(words: list[str] | None = None) -> None:
    arguments = parse_arguments(words)
    file = CellFile(arguments.cells, KEY)
    if not arguments.print_only:
        keys = [(data, case, arguments.rounds) for data in arguments.sets for case in CASES]
        file.fill(keys, partial(measure, arguments), "risk path")
    print("\n".join(table_lines(file.cells())))


if __name__ == "__main__":
    main()
