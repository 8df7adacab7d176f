"""The page about cells lists the texts that mean "missing", and its examples hold."""

import re

import pyarrow as pa
import pytest

from core import MISSING_TEXTS, TextReading
from core.columns.date_forms import DIRECTIVES
from core.columns.texts import parse_numbers
from docs.generation.committed import DOCS

PAGE = (DOCS / "reference" / "cells.md").read_text(encoding="utf-8")
READINGS = {
    "": {"": TextReading()},
    "`decimal`": {"`,`": TextReading(decimal=",")},
    "`thousands`": {"`,`": TextReading(thousands=",")},
    "`percent`": {"true": TextReading(percent=True)},
}


def test_the_listed_texts_mean_missing():
    [listed] = re.findall(r"one of these texts:\n\n(.*?)\n\n", PAGE, re.DOTALL)
    assert sorted(["", *re.findall(r"`(.+?)`", listed)]) == sorted(MISSING_TEXTS)


def test_the_listed_directives_are_those_there_are():
    [listed] = re.findall(r"with the directives `(.*?)`", PAGE)
    assert set(listed.split()) == {f"%{letter}" for letter in DIRECTIVES}


@pytest.mark.parametrize("setting", READINGS)
def test_the_examples_of_numbers_hold(setting):
    [row] = [line for line in PAGE.splitlines() if line.startswith(f"| {setting} |".replace("|  |", "| |"))]
    *_, numbers, others, _ = row.split("|")
    for cell, is_invalid in ((numbers, False), (others, True)):
        value, _, examples = cell.strip().rpartition(":")
        texts = re.findall(r"`([^`]+)`", examples)
        parsed = parse_numbers(pa.array(texts), READINGS[setting][value.removeprefix("with ")])
        assert parsed.invalid.to_pylist() == [is_invalid] * len(texts)
