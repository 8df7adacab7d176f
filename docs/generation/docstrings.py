"""Docstrings as reStructuredText: ours are plain text in which backquotes mark code.

Paragraphs of the form `name: text`, with further lines indented, describe arguments; below `Raises:` they describe
exceptions.
"""

import re
from collections.abc import Iterator
from typing import Any

import core
from core.service_api import Parameter, estimator_parameters, loss_parameters
from docs.generation.parameter_tables import shown_values

_CODE = re.compile(r"`+([^`]+)`+")
_ARGUMENT = re.compile(r"(?P<name>[a-zX_]\w*(?:, [a-zX_]\w*)*): (?P<text>\S.*)")
_EXCEPTION = re.compile(r" {4}(?P<name>\w+): (?P<text>\S.*)")
_SPECIAL = re.compile(r"([\\*|_])")


def to_restructured_text(lines: list[str]) -> Iterator[str]:
    """Yield the lines as fields or text, with code marked and everything else as literal characters."""
    starts_paragraph, raises = True, False
    for line in lines:
        described = (_EXCEPTION if raises else _ARGUMENT).fullmatch(line) if starts_paragraph or raises else None
        if line == "Raises:":
            raises = True
        elif described:
            field = "raises" if raises else "param"
            names = described["name"].replace(", ", ",")
            yield f":{field} {names}: {_converted(described['text'])}"
        else:
            yield _converted(line)
        starts_paragraph = described is not None or not line or (starts_paragraph and line.startswith("    "))


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
