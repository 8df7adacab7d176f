"""The generated files that are committed: what they should hold now."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from docs.generation import openapi, parameter_tables, settings_table

DOCS = Path(__file__).resolve().parents[1]
OPENAPI = DOCS / "reference" / "openapi.json"

#: Name in a page's markers -> the Markdown between them.
SECTIONS: Mapping[str, Callable[[], str]] = {
    "estimators": parameter_tables.estimators,
    "losses": parameter_tables.losses,
    "noise kinds": parameter_tables.noise_kinds,
    "settings": settings_table.settings,
}
_SECTION = re.compile(r"(?<=<!-- generated: )(?P<name>[\w ]+)( -->\n).*?(?=<!-- end of generated -->)", re.DOTALL)


def expected_texts() -> dict[Path, str]:
    """Return the content that each committed file with generated parts should have."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("**/*.md"))}
    generated = {path: _SECTION.sub(_fill, text) for path, text in pages.items() if _SECTION.search(text)}
    return {OPENAPI: openapi.openapi_text(), **generated}


def _fill(section: re.Match[str]) -> str:
    return f"{section['name']}{section[2]}\n{SECTIONS[section['name']]()}\n"
