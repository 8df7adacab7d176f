"""Names and references."""

import uuid

import pytest
from pydantic import TypeAdapter, ValidationError

from app.trained_models.names import ModelName, Reference, parse_reference

NAMES = TypeAdapter(ModelName)


@pytest.mark.parametrize("name", ["a", "0", "credit-risk", "v1.2_b", "a" * 100])
def test_names_that_are_allowed(name):
    assert NAMES.validate_python(name) == name
    assert parse_reference(name) == Reference(name=name)


@pytest.mark.parametrize(
    "name", ["", "-a", ".a", "a:1", "@a", "a b", "a\n", "é", "a/b", "a" * 101, str(uuid.UUID(int=7)), "compare"]
)
def test_names_that_are_refused(name):
    with pytest.raises(ValidationError):
        NAMES.validate_python(name)


def test_an_id_in_upper_or_lower_case():
    model_id = uuid.uuid4()
    assert parse_reference(str(model_id)) == parse_reference(str(model_id).upper()) == Reference(id=model_id)


@pytest.mark.parametrize("alias", ["best", "compare", "v1.2_b"])
def test_an_alias(alias):
    assert parse_reference(f"@{alias}") == Reference(alias=alias)


def test_a_version():
    assert parse_reference("credit:12") == Reference(name="credit", version=12)


@pytest.mark.parametrize(
    "text", ["", "@", "@@best", "@a:1", "a@b", "a:", "a:0", "a:-1", "a:1:2", "a:x", "a:" + "9" * 10, ":1", "a\0"]
)
def test_texts_that_are_not_references(text):
    assert parse_reference(text) is None
