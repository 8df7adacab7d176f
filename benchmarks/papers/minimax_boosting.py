"""Mazuelas and Álvarez 2025 (NeurIPS), tables 3 to 5 and figure 6, beside the published results.

python -m benchmarks.papers.minimax_boosting              # an hour and more on one core, continues when repeated
python -m benchmarks.papers.minimax_boosting --tables table3 --partitions 10 --only rmboost --cases clean "uniform 20 %"
python -m benchmarks.papers.minimax_boosting --print-only --cells docs/measured/minimax_boosting.jsonl

Protocol (section 6 and appendix H of the paper): random stratified partitions with 10 % of the rows for testing,
lambda = 1 / sqrt(training rows), noise in training labels only. Adversarial noise flips the training rows of largest
margin under a LogitBoost rule of the clean labels. The paper does not state the number of rounds; we run at most 200,
with trees of at most 10 leaves. Categories are numbered in sorted order, missing values stay missing. Table 5 draws
5,000 training rows, and tests on as many (susy, of which there are 11,000 rows with 8 features, higgs with all 28
features, and forestcov).
Table 4 follows from table 3: the mean rank without noise and the mean increase of the error, over the data sets that
are there. "lambda" repeats figure 6, of which the paper publishes no numbers: RMBoost with other values of lambda.

XGB-Quad and Robust-GBDT need xgboost: `pip install -e '.[benchmarks]'`.

The band is two points around the published mean; a lower error is better. Errors are means ± standard deviations over
the partitions.
"""

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import rankdata

import core
from benchmarks.cells import Cell, CellFile
from benchmarks.data import data_folder
from benchmarks.papers.boosting_methods import LAMBDAS, METHODS, PUBLISHED_NAMES, TABLE_METHODS, make
from benchmarks.papers.boosting_problems import CASES, LARGE, SMALL, problems
from benchmarks.papers.published import LEGEND, Band, Estimate, counts, parser, read_published
from core.noise import adversarial

KEY = ("table", "data", "case", "method", "partitions")
BAND = Band(spreads=0.0, constant=2.0, larger_is_better=False)
LAMBDA_SETS = ("german", "diabetes", "blood")
LAMBDA_CASES = ("clean", "uniform 10 %", "uniform 20 %")
TABLES = ("table3", "table5", "lambda")


def measure(
    arguments: argparse.Namespace, table: str, data: str, case: str, method: str, partitions: int
) -> dict[str, Any]:
    """Return mean and standard deviation of the test error and of the minimax risk, in percent."""
    errors, risks = [], []
    for problem in problems(data_folder(arguments.data), data, case, partitions):
        model = make(method).fit(problem.X, problem.y)
        errors.append(100 * float(np.mean(model.predict(problem.X_test) != problem.y_test)))
        risks.append(100 * getattr(model, "minimax_risk_", np.nan))
    result = {"error": float(np.mean(errors)), "error_sd": float(np.std(errors))}
    if np.isfinite(risks).all():
        result |= {"risk": float(np.mean(risks)), "risk_sd": float(np.std(risks))}
    return result


def keys(arguments: argparse.Namespace) -> Iterator[tuple[Any, ...]]:
    """Yield the requested cells; all methods of a case together, because they share its noise."""
    n = arguments.partitions
    if "table3" in arguments.tables:
        yield from (("table3", d, c, m, n) for d in arguments.sets for c in arguments.cases for m in arguments.only)
    if "table5" in arguments.tables:
        few = max(2, n // 10)
        yield from (("table5", d, c, m, few) for d in LARGE for c in arguments.cases for m in arguments.only)
    if "lambda" in arguments.tables:
        yield from (("lambda", d, c, m, n) for d in LAMBDA_SETS for c in LAMBDA_CASES for m in LAMBDAS)


def most_partitions(cells: list[Cell], table: str) -> dict[tuple[str, str, str], Cell]:
    """Return (data, case, method) -> the cell of a table that was measured over most partitions."""
    chosen: dict[tuple[str, str, str], Cell] = {}
    for cell in sorted(cells, key=lambda cell: cell["partitions"]):
        if cell["table"] == table:
            chosen[cell["data"], cell["case"], cell["method"]] = cell
    return chosen


def published_estimates(content: Any, table: str) -> dict[tuple[str, str, str], Estimate]:
    """Return (data, case, published method) -> error, or risk of the method "Minimax risk"."""
    rows = content.get(table, [])
    return {(row["data"], row["case"], row["method"]): Estimate(row["error_percent"], row["sd"]) for row in rows}


def table_lines(table: str, cells: list[Cell], content: Any) -> Iterator[str]:
    """Yield a Markdown table of errors and risks beside the published ones; nothing without cells."""
    ours, theirs = most_partitions(cells, table), published_estimates(content, table)
    names = list(SMALL if table == "table3" else LARGE)
    if not ours:
        return
    yield f"| case | method | partitions | {' | '.join(names)} |"
    yield f"| --- | --- | --- |{' --- |' * len(names)}"
    verdicts: list[str] = []
    for case in CASES:
        for method in METHODS:
            found = [ours.get((name, case, method)) for name in names]
            for value in ("error", "risk"):
                estimates = [Estimate(c[value], c[f"{value}_sd"]) if c and value in c else None for c in found]
                if not any(estimates):
                    continue
                published = "Minimax risk" if value == "risk" else PUBLISHED_NAMES[method]
                pairs = [(e, theirs.get((name, case, published))) for e, name in zip(estimates, names, strict=True)]
                if method in TABLE_METHODS:
                    verdicts += [BAND.verdict(*pair) for pair in pairs]
                title = method if value == "error" else f"{method}: R"
                values = " | ".join(BAND.cell(*pair, digits=1) for pair in pairs)
                yield f"| {case} | {title} | {_partitions(found)} | {values} |"
    yield f"\nAll: {counts(verdicts)}"


def _partitions(cells: list[Cell | None]) -> str:
    """Return the number of partitions of these cells, in their order if it differs."""
    numbers = [str(cell["partitions"]) for cell in cells if cell]
    return numbers[0] if len(set(numbers)) == 1 else ", ".join(numbers)


def table4_lines(cells: list[Cell], content: Any) -> Iterator[str]:
    """Yield the mean rank without noise and the mean increase of the error; nothing if a method lacks a cell."""
    errors = {key: cell["error"] for key, cell in most_partitions(cells, "table3").items()}
    methods = [m for m in TABLE_METHODS if all((d, c, m) in errors for d in SMALL for c in CASES)]
    if not methods:
        return
    ranks = np.mean([rankdata([errors[d, "clean", m] for m in methods]) for d in SMALL], axis=0)
    theirs = {row["method"]: row for row in content.get("table4", [])}
    yield f"| method | rank without noise | {' | '.join(CASES[1:])} |\n| --- | --- |{' --- |' * (len(CASES) - 1)}"
    for method, rank in zip(methods, ranks, strict=True):
        published = theirs.get(PUBLISHED_NAMES[method])
        columns = [f"{rank:.2f} ({published['mean_rank_clean'] if published else '–'})"]
        for case in CASES[1:]:
            increase = np.mean([errors[d, case, method] - errors[d, "clean", method] for d in SMALL])
            columns.append(f"{increase:.2f} ({published['degradation_percent'][case] if published else '–'})")
        yield f"| {method} | {' | '.join(columns)} |"


def lambda_lines(cells: list[Cell]) -> Iterator[str]:
    """Yield the errors of RMBoost for values of lambda; nothing without cells."""
    ours = most_partitions(cells, "lambda")
    if not ours:
        return
    yield f"| data | case | {' | '.join(LAMBDAS)} |\n| --- | --- |{' --- |' * len(LAMBDAS)}"
    for data in LAMBDA_SETS:
        for case in LAMBDA_CASES:
            found = [ours.get((data, case, method)) for method in LAMBDAS]
            yield f"| {data} | {case} | {' | '.join(_error(cell) for cell in found)} |"


def _error(cell: Cell | None) -> str:
    return f"{cell['error']:.1f} ± {cell['error_sd']:.1f}" if cell else "–"


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    result = parser(__doc__, "minimax_boosting")
    result.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    result.add_argument("--sets", nargs="+", choices=SMALL, default=list(SMALL), help="data sets of table 3")
    result.add_argument("--only", nargs="+", choices=METHODS, default=list(TABLE_METHODS))
    result.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    result.add_argument("--partitions", type=int, default=100, help="of table 3 and lambda; a tenth of it in table 5")
    result.add_argument(
        "--reference-rounds", type=int, default=adversarial.N_ROUNDS, help="rounds of the adversary's LogitBoost"
    )
    return result.parse_args(words)


def main(words: list[str] | None = None) -> None:
    arguments = parse_arguments(words)
    adversarial.N_ROUNDS = arguments.reference_rounds
    file = CellFile(arguments.cells, KEY)
    if not arguments.print_only:
        core.RMBoostClassifier(n_rounds=2).fit(np.eye(20), np.arange(20) % 2)  # compiles
        file.fill(keys(arguments), partial(measure, arguments), "boosters")
    cells, published = file.cells(), read_published("rmboost")
    tables = {
        "Table 3, errors in percent": table_lines("table3", cells, published),
        "Table 4, ours (published)": table4_lines(cells, published),
        "Table 5, errors in percent": table_lines("table5", cells, published),
        "Figure 6, errors in percent": lambda_lines(cells),
    }
    for title, found in tables.items():
        lines = list(found)
        if lines:
            print(f"\n{title} ({LEGEND})\n\n" + "\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
