"""Generated reference: it is up to date and complete."""

import difflib
import re
from pathlib import Path

import pytest

import core
from core.service_api import estimator_parameters, loss_parameters, noise_parameters
from docs.generation import http_pages
from docs.generation.committed import DOCS, SECTIONS, expected_texts
from docs.generation.openapi import openapi_document
from docs.generation.parameter_tables import shown_values
from docs.generation.python_pages import GROUPS, public_names
from docs.generation.settings_table import settings

EXPECTED = expected_texts()


@pytest.mark.parametrize("path", EXPECTED, ids=lambda path: path.name)
def test_committed_file_is_up_to_date(path: Path) -> None:
    stored, expected = path.read_text(encoding="utf-8"), EXPECTED[path]
    if stored != expected:
        lines = difflib.unified_diff(stored.splitlines(), expected.splitlines(), "stored", "expected", n=1, lineterm="")
        shown = "\n".join(list(lines)[:60])
        pytest.fail(f"{path.relative_to(DOCS.parent)} is out of date; run `make reference` and commit it.\n{shown}")


def test_every_generated_section_is_in_a_page() -> None:
    marked = [name for text in EXPECTED.values() for name in re.findall(r"<!-- generated: ([\w ]+) -->", text)]
    assert sorted(marked) == sorted(SECTIONS)


def test_every_api_tag_has_a_page() -> None:
    placeholders = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("reference/http/*.md"))
    shown = re.findall(r"http operations; ([\w ]+) -->", placeholders)
    assert sorted(shown) == sorted(http_pages.tags(openapi_document()))


def test_every_public_name_of_core_is_documented_once() -> None:
    pages = "".join(public_names(group) for group in GROUPS)
    documented = re.findall(r"\.\. (?:auto|py:)\w+:: core\.(\w+)$", pages, re.MULTILINE)
    assert sorted(documented) == sorted(core.__all__)


def test_every_group_of_public_names_has_a_page() -> None:
    placeholders = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("reference/python/*.md"))
    assert sorted(re.findall(r"python names; ([\w ]+) -->", placeholders)) == sorted(GROUPS)


def test_every_setting_has_a_description() -> None:
    assert re.findall(r"^\|.*\|  \|$", settings(), re.MULTILINE) == []


def test_every_parameter_has_values_and_a_description() -> None:
    declared = [
        parameter
        for list_parameters, kinds in (
            (estimator_parameters, core.ESTIMATORS),
            (loss_parameters, core.LOSSES),
            (noise_parameters, core.NOISE_KINDS),
        )
        for kind in kinds
        for parameter in list_parameters(kind)
    ]
    assert [parameter.name for parameter in declared if not (parameter.help and shown_values(parameter))] == []


def test_parameter_values_are_written_in_json_terms() -> None:
    declared = {parameter.name: parameter for parameter in estimator_parameters("forest")}
    shown = shown_values(declared["max_features"])
    assert shown == 'integer at least 1, or number above 0, at most 1, or `"sqrt"`, `"log2"`, or null'
