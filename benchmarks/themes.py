"""Colors of the pictures in the documentation, for light and for dark pages."""

from typing import NamedTuple


class Theme(NamedTuple):
    """Colors of one picture; `name` ends the name of its file."""

    name: str
    background: str
    text: str
    muted: str
    grid: str
    ours: str
    others: str
    boosted: str


THEMES = (
    Theme("light", "#ffffff", "#1f2328", "#59636e", "#d8dee4", "#0a6e4f", "#6e7781", "#bc4c00"),
    Theme("dark", "#0d1117", "#e6edf3", "#9198a1", "#30363d", "#3fd6a0", "#9198a1", "#ffa657"),
)
