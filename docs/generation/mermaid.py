"""Mermaid diagrams drawn while the site is built, so that a page needs no script and no other host.

The hosting platform draws the same code blocks itself when it shows the Markdown files.
"""

import re
from hashlib import sha256

import mermaidx
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

#: The font that the renderer measures texts with comes first, so that labels fit their boxes.
_FONTS = "DejaVu Sans, Verdana, sans-serif"


class MermaidDiagram(SphinxDirective):
    """Directive whose content is a diagram in the language of Mermaid."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the diagram as an SVG image inside the page."""
        source = "\n".join(self.content)
        figure = nodes.container(classes=["diagram"])
        figure += nodes.raw("", draw(source), format="html")
        return [figure]


def draw(source: str) -> str:
    """Return the SVG of a diagram, with identifiers that no other diagram of the page has."""
    svg: str = mermaidx.render(source, theme="neutral", config={"themeVariables": {"fontFamily": _FONTS}}).svg()
    return re.sub(r"\bmy-svg\b", f"diagram-{sha256(source.encode()).hexdigest()[:8]}", svg)
