"""The page of results shows what the stored cells say."""

from benchmarks.cells import CellFile
from benchmarks.comparison.ranking import KEY
from benchmarks.comparison.report import report
from benchmarks.comparison.tables import HELD_OUT, TABLES
from benchmarks.data import CHECKOUT

DOCS = CHECKOUT / "docs"


def test_page_has_the_tables_of_the_stored_cells():
    page = (DOCS / "results.md").read_text()
    cells = CellFile(DOCS / "measured" / "comparison.jsonl", KEY).cells()
    for tables in (list(TABLES), list(HELD_OUT)):
        for paragraph in report(cells, tables):
            assert paragraph.split(":\n\n")[-1] in page
