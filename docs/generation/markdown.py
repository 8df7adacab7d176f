"""Markdown syntax: tables, headings and cells that cannot break them."""

import json
from collections.abc import Iterable, Sequence
from typing import Any


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells hold Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(_cell(text) for text in line)} |" for line in lines) + "\n"


def code(text: str) -> str:
    """Return `text` as inline code."""
    return f"`{text}`"


def literal(value: Any) -> str:
    """Return a JSON value as inline code."""
    return code(json.dumps(value, ensure_ascii=False))


def json_block(value: Any) -> str:
    """Return a JSON value as a highlighted block."""
    return f"```json\n{json.dumps(value, indent=2, ensure_ascii=False)}\n```\n"


def page(parts: Iterable[str]) -> str:
    """Join blocks with one empty line between them, leaving out empty ones."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", r"\|").split())
