"""Cells are stored as they are measured, and are not measured twice."""

import io

import pytest

from benchmarks.cells import CellFile, Progress
from benchmarks.data import MissingData


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "cells.jsonl"


def filled(path, keys, measure):
    CellFile(path, ("table", "rate")).fill(keys, measure)
    return CellFile(path, ("table", "rate")).by_key()


def test_a_measured_cell_is_not_measured_again(path):
    filled(path, [("iris", 0.1)], lambda table, rate: {"accuracy": 0.5})
    cells = filled(path, [("iris", 0.1), ("wine", 0.1)], lambda table, rate: {"accuracy": 0.75})
    assert {key: cell["accuracy"] for key, cell in cells.items()} == {("iris", 0.1): 0.5, ("wine", 0.1): 0.75}


def test_cells_before_an_error_are_kept(path):
    def measure(table, rate):
        if rate == 0.4:
            raise ArithmeticError("a bug")
        return {"accuracy": rate}

    with pytest.raises(ArithmeticError):
        filled(path, [("iris", 0.2), ("iris", 0.4)], measure)
    assert list(CellFile(path, ("table", "rate")).by_key()) == [("iris", 0.2)]


def test_a_line_that_was_not_finished_is_measured_again(path):
    filled(path, [("iris", 0.1), ("wine", 0.1)], lambda table, rate: {"accuracy": 0.5})
    path.write_bytes(path.read_bytes()[:-20])
    cells = filled(path, [("iris", 0.1), ("wine", 0.1)], lambda table, rate: {"accuracy": 0.75})
    assert {key: cell["accuracy"] for key, cell in cells.items()} == {("iris", 0.1): 0.5, ("wine", 0.1): 0.75}


def test_a_cell_without_data_is_reported_and_omitted(path, capsys):
    def measure(table, rate):
        if table == "absent":
            raise MissingData("absent.parquet is not in the folder")
        return {"accuracy": 0.5}

    cells = filled(path, [("absent", 0.1), ("iris", 0.1)], measure)
    assert list(cells) == [("iris", 0.1)]
    assert "skipped: absent, 0.1 (absent.parquet is not in the folder)" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_a_bar_on_a_terminal_and_lines_elsewhere():
    terminal, log = Terminal(), io.StringIO()
    for stream in (terminal, log):
        progress = Progress(2, "tables", stream)
        progress.advance("iris")
        progress.advance("wine")
    assert terminal.getvalue().count("\n") == 1
    assert f"\r[{'#' * 15}{'.' * 15}] tables 1/2" in terminal.getvalue()
    assert [line.split(",")[0] for line in log.getvalue().splitlines()] == ["tables 1/2", "tables 2/2"]
