"""Sphinx extension of the site: fills the generated pages, draws diagrams and reads our docstrings."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

from docs.generation import docstrings, http_pages, python_pages
from docs.generation.links import Site, relocate
from docs.generation.mermaid import MermaidDiagram
from docs.generation.openapi import openapi_document

logger = getLogger(__name__)

_LOADED_FROM_OUTSIDE = re.compile(
    r'<(?:script|img|iframe|link (?!rel="(?:canonical|search)"))[^>]*?(https?://[^"\s>]+)'
)
_PLACEHOLDER = re.compile(r"<!-- at build time: (?P<what>[a-z ]+?)(?:; (?P<which>[\w .]+))? -->")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    app.add_config_value("repository_files_url", "", "env")
    app.add_directive("mermaid", MermaidDiagram)
    app.connect("source-read", partial(_read_page, _builders()))
    app.connect("autodoc-process-docstring", _convert_docstring)
    app.connect("autodoc-skip-member", _skip_undescribed_field)
    app.connect("build-finished", _refuse_other_hosts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _builders() -> dict[str, Callable[[str], str]]:
    document = openapi_document()
    return {
        "http operations": partial(http_pages.operations, document),
        "http schemas": lambda _: http_pages.schemas(document),
        "python names": python_pages.public_names,
    }


def _read_page(builders: dict[str, Callable[[str], str]], app: Sphinx, name: str, source: list[str]) -> None:
    """Fill the placeholders of a page and adapt its links."""
    site = Site(Path(app.srcdir), app.config.repository_files_url)
    page = Path(app.env.doc2path(name))
    text = relocate(source[0], page, page, site)

    def content(found: re.Match[str]) -> str:
        if found["what"] != "repository file":
            return builders[found["what"]](found["which"] or "")
        file = site.folder.parent / found["which"]
        return relocate(file.read_text(encoding="utf-8"), file, page, site)

    source[0] = _PLACEHOLDER.sub(content, text)


def _refuse_other_hosts(app: Sphinx, failure: Exception | None) -> None:
    """Warn of a page that would load a script, a style, an image or a font from another host."""
    for file in () if failure else sorted(Path(app.outdir).rglob("*.html")):
        for found in _LOADED_FROM_OUTSIDE.findall(file.read_text(encoding="utf-8")):
            logger.warning("%s loads %s from another host", file.relative_to(app.outdir), found)


def _convert_docstring(app: Sphinx, what: str, name: str, documented: Any, options: Any, lines: list[str]) -> None:
    fields = list(docstrings.parameter_fields(documented)) if what == "class" else []
    lines[:] = [*docstrings.to_restructured_text(lines.copy()), "", *fields]


def _skip_undescribed_field(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out fields of named tuples that only have Python's own description; the signature lists them."""
    return True if (getattr(member, "__doc__", None) or "").startswith("Alias for field number") else None
