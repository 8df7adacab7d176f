"""Conversion of docstrings to reStructuredText."""

from docs.generation.docstrings import to_restructured_text

DOCSTRING = """\
Return `x` for |y| of a_ and *b*.

first, second: what two arguments mean, in more
    than one line.
third: another.

Raises:
    InvalidInput: the `x` cannot be used, or has
        too few rows.
    FitStopped: the monitor requested a stop."""

EXPECTED = """\
Return ``x`` for \\|y\\| of a\\_ and \\*b\\*.

:param first,second: what two arguments mean, in more
    than one line.
:param third: another.

:raises InvalidInput: the ``x`` cannot be used, or has
        too few rows.
:raises FitStopped: the monitor requested a stop."""


def test_arguments_and_exceptions_become_fields() -> None:
    assert "\n".join(to_restructured_text(DOCSTRING.split("\n"))) == EXPECTED
