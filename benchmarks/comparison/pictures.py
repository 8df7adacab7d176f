"""Critical-difference diagrams of the comparison, one per noise model, for light and for dark pages.

python -m benchmarks.comparison.pictures
python -m benchmarks.comparison.pictures --cells FILE --rows 2000 --folder docs/images
python -m benchmarks.comparison.pictures --collection keel --cells docs/measured/comparison_keel.jsonl --rows 2000

Each diagram shows the mean ranks of the methods over the tables; the best are on the left. A bar joins methods whose
mean ranks differ by no more than the critical difference, which is drawn above the axis (Demšar 2006, figure 1).
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import options
from benchmarks.cells import CellFile, default_path
from benchmarks.comparison.methods import OURS
from benchmarks.comparison.noise import NOISES
from benchmarks.comparison.ranking import KEY, Comparison, critical_difference, similar_groups
from benchmarks.comparison.report import comparisons
from benchmarks.comparison.table_options import COLLECTIONS
from benchmarks.data import CHECKOUT
from benchmarks.themes import THEMES, Theme

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
except ImportError:
    raise SystemExit("matplotlib is not installed; run `pip install -e '.[benchmarks]'`.") from None

WIDTH = 10.4  # inches
#: Ends of the axis, as shares of the width; names are beside it.
LEFT, RIGHT = 0.31, 0.69
#: Inches from the top of a diagram to its axis, between bars, and between names; and below the last name.
AXIS, BAR, LINE, GAP = 0.85, 0.08, 0.22, 0.3


class Label(NamedTuple):
    """Name of a method: the better half of the methods is on the left side, and the best and the worst are on top."""

    method: str
    rank: float
    line: int  # of its side, 0 on top
    is_left: bool


class Diagram(NamedTuple):
    """Contents of one diagram."""

    title: str
    labels: list[Label]
    difference: float  # critical
    bars: list[tuple[float, float]]  # lowest and highest rank

    def height(self) -> float:
        return self.line_y(max(label.line for label in self.labels)) + GAP

    def line_y(self, line: int) -> float:
        """Return the inches from the top to a line of names."""
        return AXIS + BAR * (len(self.bars) + 1) + 0.1 + LINE * line


def diagram(noise: str, comparison: Comparison) -> Diagram:
    """Return the diagram of a comparison."""
    n_methods, n_tables, ranks = len(comparison.methods), len(comparison.tables), comparison.ranks()
    difference = critical_difference(n_methods, n_tables)
    order, n_left = np.argsort(ranks, kind="stable").tolist(), (n_methods + 1) // 2
    sides = ((order[:n_left], True), (order[: n_left - 1 : -1], False))
    labels = [
        Label(comparison.methods[method], float(ranks[method]), line, is_left)
        for side, is_left in sides
        for line, method in enumerate(side)
    ]
    title = f"{NOISES[noise]} ({n_tables} tables)"
    return Diagram(title, labels, difference, similar_groups(ranks, difference))


def draw_pictures(measured: dict[str, Comparison], folder: Path, name: str) -> None:
    """Write one SVG per theme, `NAME_THEME.svg`, into the folder; the same comparisons give the same bytes."""
    diagrams = [diagram(noise, comparison) for noise, comparison in measured.items()]
    settings: Any = {"svg.hashsalt": "comparison", "font.family": "DejaVu Sans", "font.size": 10}
    with mpl.rc_context(settings):
        for theme in THEMES:
            path = folder / f"{name}_{theme.name}.svg"
            figure(diagrams, theme).savefig(path, facecolor=theme.background, metadata={"Date": None})


def figure(diagrams: list[Diagram], theme: Theme) -> Figure:
    """Return a figure with one diagram below the other."""
    total = sum(one.height() for one in diagrams)
    whole, top = Figure(figsize=(WIDTH, total)), total
    for one in diagrams:
        top -= one.height()
        axes = whole.add_axes((LEFT, top / total, RIGHT - LEFT, one.height() / total))
        whole.text(
            0.02, (top + one.height() - 0.3) / total, one.title, color=theme.text, fontweight="bold", fontsize=12
        )
        _draw_diagram(axes, one, theme)
    return whole


def _draw_diagram(axes: Any, one: Diagram, theme: Theme) -> None:
    """Draw in ranks (x) and inches below the top (y)."""
    axes.set(xlim=(1, len(one.labels)), ylim=(one.height(), 0))
    axes.axis("off")
    _draw_scale(axes, one, theme)
    for number, (low, high) in enumerate(one.bars):
        y = AXIS + BAR * (number + 1)
        axes.plot([low - 0.05, high + 0.05], [y, y], color=theme.text, linewidth=3.5, solid_capstyle="butt")
    for label in one.labels:
        _draw_label(axes, label, one, theme)


def _draw_scale(axes: Any, one: Diagram, theme: Theme) -> None:
    ranks = range(1, len(one.labels) + 1)
    axes.plot([1, len(ranks)], [AXIS, AXIS], color=theme.text, linewidth=1.2, clip_on=False)
    for rank in ranks:
        axes.plot([rank, rank], [AXIS - 0.06, AXIS], color=theme.text, linewidth=1.2, clip_on=False)
        axes.text(rank, AXIS - 0.1, str(rank), color=theme.text, ha="center", va="bottom", fontsize=9)
    axes.plot([1, 1 + one.difference], [0.45, 0.45], color=theme.muted, linewidth=2, clip_on=False)
    text = f"critical difference {one.difference:.2f}"
    axes.text(1.15 + one.difference, 0.45, text, color=theme.muted, va="center", fontsize=9)


def _draw_label(axes: Any, label: Label, one: Diagram, theme: Theme) -> None:
    """Draw a line from the rank down and to the side, and the name and the rank at its end."""
    is_ours, y = label.method in OURS, one.line_y(label.line)
    color = theme.ours if is_ours else theme.muted
    end = 0.8 if label.is_left else len(one.labels) + 0.2
    axes.plot([label.rank, label.rank, end], [AXIS, y, y], color=color, linewidth=1.3, clip_on=False)
    text = f"{label.method}  {label.rank:.1f}" if label.is_left else f"{label.rank:.1f}  {label.method}"
    x, side = (end - 0.1, "right") if label.is_left else (end + 0.1, "left")
    axes.text(x, y, text, color=color, ha=side, va="center", fontweight="bold" if is_ours else "normal")


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = options.program_parser("benchmarks.comparison.pictures", __doc__)
    parser.add_argument("--collection", choices=COLLECTIONS, default="parquet", help="collection of tables")
    parser.add_argument("--cells", type=Path, default=default_path("comparison"), help="file of the measured cells")
    parser.add_argument("--rows", type=int, default=6000, help="maximum number of rows that the cells have")
    parser.add_argument("--folder", type=Path, default=CHECKOUT / "docs" / "images", help="folder of the pictures")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    chosen = parse_arguments(arguments)
    collection = COLLECTIONS[chosen.collection]
    tables = list(collection.tables)
    stored = CellFile(chosen.cells, KEY).by_key().values()
    cells = [cell for cell in stored if cell["rows"] == chosen.rows and cell["table"] in tables]
    if not cells:
        raise SystemExit(
            f"{chosen.cells} has no cells of the collection {chosen.collection} with --rows {chosen.rows}; "
            "measure them, or name another file with --cells."
        )
    draw_pictures(comparisons(cells, tables), chosen.folder, collection.name)


if __name__ == "__main__":
    main()
