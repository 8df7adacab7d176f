"""Dates as text, up to the ends of what seconds can say."""

import pytest

from app.datasets.datetime_text import datetime_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01"),
        (86_399.5, "1970-01-01T23:59:59.500000Z"),
        (-1, "1969-12-31T23:59:59Z"),
        (1e12, "33658-09-27T01:46:40Z"),
        (1e300, "292277026596-12-04T15:30:07Z"),
        (-1e300, "-292277022657-01-27T08:29:53Z"),
    ],
)
def test_any_number_of_seconds_has_a_text(seconds: float, text: str) -> None:
    assert datetime_text(seconds) == text
