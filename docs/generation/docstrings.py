"""Docstrings as reStructuredText: ours are plain text in which backquotes mark code."""

import re
from collections.abc import Iterator
from typing import Any

import core
from core.service_api import Parameter, estimator_parameters, loss_parameters
from docs.generation.parameter_tables import shown_values

_CODE = re.compile(r"`+([^`]+)`+")
_SPECIAL = re.compile(r"([\\*|_])")


def to_restructured_text(lines: list[str]) -> list[str]:
    """Return the lines with code marked the reStructuredText way and everything else as literal characters."""
    return [line if line.startswith("    ") else _converted(line) for line in lines]


def parameter_fields(documented: Any) -> Iterator[str]:
    """Yield a field for each declared parameter of an estimator or a loss."""
    for parameter in _declared(documented):
        meaning = " ".join(_converted(text) for text in (parameter.help, f"({_plain(shown_values(parameter))})"))
        yield f":param {parameter.argument}: {meaning}"


def _declared(documented: Any) -> tuple[Parameter, ...]:
    for kind, estimator in core.ESTIMATORS.items():
        if documented is estimator:
            return estimator_parameters(kind)
    for kind, loss in core.LOSSES.items():
        if documented is loss:
            return loss_parameters(kind)
    return ()


def _converted(line: str) -> str:
    pieces = _CODE.split(line)
    pieces[::2] = [_SPECIAL.sub(r"\\\1", piece) for piece in pieces[::2]]
    pieces[1::2] = [f"``{piece}``" for piece in pieces[1::2]]
    return "".join(pieces)


def _plain(markdown: str) -> str:
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown)
