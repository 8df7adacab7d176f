"""The pages of results and their pictures follow from the measured cells."""

import json
import re

import pytest

from benchmarks import results

CELLS = sorted(results.MEASURED.glob("*.jsonl"))
PAGES = sorted(results.PAGES.glob("*.md"))
DOCS = results.PAGES.parent


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_tables_of_a_page_are_those_of_the_measured_cells(path):
    page = path.read_text(encoding="utf-8")
    assert page == results.expected_page(page), "run python -m benchmarks.results"


def test_the_tables_are_written_into_every_page_of_a_folder(tmp_path):
    for name in ("speed", "trees"):
        (tmp_path / f"{name}.md").write_text("<!-- measured: growth -->\n<!-- end of measured -->\n")
    results.main(["--folder", str(tmp_path)])
    lines = "\n".join(results.SECTIONS["growth"]())
    expected = f"<!-- measured: growth -->\n\n{lines}\n\n<!-- end of measured -->\n"
    for name in ("speed", "trees"):
        assert (tmp_path / f"{name}.md").read_text() == expected


OF_COMPARISON = [name for name in results.SECTIONS if name.startswith(("comparison", "held out"))]


@pytest.mark.parametrize("name", OF_COMPARISON)
def test_tables_of_the_comparison_are_those_of_its_cells(name):
    lines = "\n".join(results.SECTIONS[name]())
    assert f"<!-- measured: {name} -->\n\n{lines}\n" in (results.PAGES / "comparison.md").read_text(encoding="utf-8")


def test_every_table_has_one_place():
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    assert sorted(re.findall(r"<!-- measured: ([\w ]+) -->", text)) == sorted(results.SECTIONS)


def test_the_first_page_leads_to_every_other():
    first = (DOCS / "results.md").read_text(encoding="utf-8")
    for path in PAGES:
        assert f"](results/{path.name})" in first
        assert f"\nresults/{path.stem}\n" in first


@pytest.mark.parametrize("path", CELLS, ids=lambda path: path.stem)
def test_measured_cells_tell_version_and_date(path):
    for line in path.read_text().splitlines():
        assert {"version", "date"} <= json.loads(line).keys()


def test_precisions_of_the_picture_are_those_of_the_table_of_audits():
    page = (DOCS / "explanation" / "audits.md").read_text(encoding="utf-8")
    for line in (results.MEASURED / "audit.jsonl").read_text().splitlines():
        cell = json.loads(line)
        ours, best = (str(cell[name]) for name in ("ours", "cleanlab_best"))
        line = rf"^\| {cell['table']} \| {cell['noise']} \| {ours}0* \| \S+ \| {best}0* \|"
        assert re.search(line, page, re.MULTILINE)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_are_drawn_from_the_cells(theme, tmp_path):
    pytest.importorskip("matplotlib")
    from benchmarks import pictures

    for name in pictures.PICTURES:
        pictures.draw_picture(name, tmp_path)
        assert "<svg" in (tmp_path / f"{name}_{theme}.svg").read_text()
        assert (DOCS / "images" / f"{name}_{theme}.svg").exists(), "run python -m benchmarks.pictures"
