"""Tables of the pages in docs/results, written from the measured cells in docs/measured: python -m benchmarks.results.

A table is the text between `<!-- measured: NAME -->` and `<!-- end of measured -->`.
"""

import argparse
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from benchmarks.cells import Cell
from benchmarks.comparison import human_labels
from benchmarks.comparison import report as comparison
from benchmarks.comparison.differences import difference_lines
from benchmarks.comparison.keel_tables import KEEL_TABLES
from benchmarks.comparison.tables import HELD_OUT, TABLES
from benchmarks.data import CHECKOUT
from benchmarks.papers import loss_correction, minimax_boosting, risk_path, running_times, tree_losses
from benchmarks.papers.published import read_published
from benchmarks.speed import growth

#: Function that yields the lines of a table.
Section = Callable[[], Iterator[str]]

PAGES = CHECKOUT / "docs" / "results"
MEASURED = CHECKOUT / "docs" / "measured"
_SECTION = re.compile(r"(?<=<!-- measured: )(?P<name>[\w ]+)( -->\n).*?(?=<!-- end of measured -->)", re.DOTALL)


def _cells(name: str) -> list[Cell]:
    path = MEASURED / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _tree_losses(table: str) -> Iterator[str]:
    cells = [cell for cell in _cells("tree_losses") if cell["smallest_leaf"] == 1]
    return tree_losses.table_lines(table, cells, read_published("robust_tree_losses"))


def _boosting(table: str) -> Iterator[str]:
    return minimax_boosting.table_lines(table, _cells("minimax_boosting"), read_published("rmboost"))


def _comparison(title: str, file: str, tables: Collection[str]) -> dict[str, Section]:
    """Return the sections about a group of tables."""

    def significance() -> Iterator[str]:
        return comparison.significance_lines(_cells(file), tuple(tables))

    measures = [measure for measure in comparison.MEASURES if measure not in comparison.OF_PROBABILITIES]
    return {
        **_measures(title, file, tables, measures),
        f"{title} significance": significance,
    }


def _measures(title: str, file: str, tables: Collection[str], measures: Iterable[str]) -> dict[str, Section]:
    """Return a section for each of the measures."""

    def compared(measure: str) -> Iterator[str]:
        return comparison.table_lines(measure, _cells(file), tuple(tables))

    return {f"{title} {measure}": partial(compared, measure) for measure in measures}


def _human_labels(n_rows: int) -> Iterator[str]:
    return human_labels.table_lines(_cells("human_labels"), n_rows)


#: Name in the markers of a page -> the lines between them.
SECTIONS: Mapping[str, Section] = {
    "trees of two classes": partial(_tree_losses, "table2"),
    "trees of all classes": partial(_tree_losses, "table3"),
    "forests of two classes": partial(_tree_losses, "table4"),
    "forests of all classes": partial(_tree_losses, "table5"),
    "leaves": lambda: tree_losses.leaves_lines("table3", _cells("tree_losses")),
    "lambda of trees of two classes": lambda: tree_losses.lambda_lines("table2", _cells("tree_losses")),
    "lambda of trees of all classes": lambda: tree_losses.lambda_lines("table3", _cells("tree_losses")),
    "boosters": partial(_boosting, "table3"),
    "ranks of boosters": lambda: minimax_boosting.table4_lines(_cells("minimax_boosting"), read_published("rmboost")),
    "boosters on larger sets": partial(_boosting, "table5"),
    "lambda": lambda: minimax_boosting.lambda_lines(_cells("minimax_boosting")),
    "running times": lambda: running_times.table_lines(_cells("running_times")),
    "risk path": lambda: risk_path.table_lines(_cells("risk_path")),
    "loss correction": lambda: loss_correction.table_lines(
        _cells("loss_correction"), read_published("loss_correction")
    ),
    "growth": lambda: growth.table_lines(_cells("growth")),
    **_comparison("comparison", "comparison", TABLES),
    **_comparison("held out", "comparison", HELD_OUT),
    **_comparison("keel", "comparison_keel", KEEL_TABLES),
    **_measures("probabilities", "probabilities", TABLES, comparison.OF_PROBABILITIES),
    **_measures("keel probabilities", "probabilities_keel", KEEL_TABLES, comparison.OF_PROBABILITIES),
    **{f"human labels of {n_rows} images": partial(_human_labels, n_rows) for n_rows in human_labels.NUMBERS_OF_ROWS},
    "auto without noise": lambda: difference_lines(_cells("without_noise"), "uniform_0", "forest", "auto"),
    "keel auto without noise": lambda: difference_lines(_cells("keel_without_noise"), "uniform_0", "forest", "auto"),
}
NOT_MEASURED = "*Not measured yet; the command above measures it.*"


def expected_page(text: str) -> str:
    """Return the page with the tables of the cells that are stored now."""
    return _SECTION.sub(_fill, text)


def _fill(section: re.Match[str]) -> str:
    lines = "\n".join(SECTIONS[section["name"]]())
    return f"{section['name']}{section[2]}\n{lines or NOT_MEASURED}\n\n"


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.results", description=__doc__)
    parser.add_argument("--folder", type=Path, default=PAGES, help="folder of the pages whose tables are written")
    for page in parser.parse_args(words).folder.glob("*.md"):
        page.write_text(expected_page(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
