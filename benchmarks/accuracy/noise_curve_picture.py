"""Drawing of the noise curve, once for light and once for dark pages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.themes import THEMES, Theme

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
except ImportError:
    raise SystemExit("matplotlib is not installed; run `pip install -e '.[benchmarks]'`.") from None


TITLE = "Accuracy on correctly labeled digits after training on wrong labels"
SUBTITLE = "Mean of 10 random splits and noise draws; bands show ± one standard deviation"


class Line(NamedTuple):
    """Style of one estimator's curve; the label is placed at the right end of its line, moved by `shift` points."""

    estimator: str
    label: str
    color: str  # a field of Theme
    style: Any
    shift: float


LINES = (
    Line("scikit-learn tree", "single tree, scikit-learn", "others", "-", -3),
    Line("tree, adaptive NE", "single tree, Bristlecone (adaptive NE)", "ours", "-", 3),
    Line("LightGBM", "LightGBM", "boosted", "-", 0),
    Line("scikit-learn forest", "forest, scikit-learn", "others", "-", -13),
    Line("forest, Gini", "forest, Bristlecone (Gini)", "ours", (0, (4, 3)), 2),
    Line("forest, adaptive NE", "forest, Bristlecone (adaptive NE)", "ours", "-", 11),
    Line("auto", "auto, Bristlecone (the default)", "ours", "-", 11),
)


def draw_pictures(cells: Sequence[Any], folder: Path) -> None:
    """Write one SVG per theme into the folder; the same cells give the same bytes."""
    settings: Any = {"svg.hashsalt": "noise curve", "font.family": "DejaVu Sans", "font.size": 11}
    with mpl.rc_context(settings):
        for theme in THEMES:
            figure = _figure(cells, theme)
            figure.savefig(
                folder / f"noise_curve_{theme.name}.svg", facecolor=theme.background, metadata={"Date": None}
            )


def _figure(cells: Sequence[Any], theme: Theme) -> Figure:
    figure = Figure(figsize=(9.6, 5.0))
    axes = figure.add_axes((0.07, 0.13, 0.53, 0.70))
    axes.set_facecolor(theme.background)
    for line in LINES:
        _draw_line(axes, line, [cell for cell in cells if cell.estimator == line.estimator], theme)
    _label_axes(axes, theme)
    figure.text(0.018, 0.935, TITLE, color=theme.text, fontsize=14, fontweight="bold")
    figure.text(0.018, 0.882, SUBTITLE, color=theme.muted, fontsize=10.5)
    return figure


def _draw_line(axes: Any, line: Line, cells: Sequence[Any], theme: Theme) -> None:
    rates = [100 * cell.rate for cell in cells]
    means = np.array([100 * np.mean(cell.accuracies) for cell in cells])
    spreads = np.array([100 * np.std(cell.accuracies, ddof=1) for cell in cells])
    color = getattr(theme, line.color)
    axes.fill_between(rates, means - spreads, means + spreads, color=color, alpha=0.16, linewidth=0)
    axes.plot(rates, means, color=color, linestyle=line.style, linewidth=2.2, solid_capstyle="round")
    axes.annotate(
        f"{means[-1]:.0f} %  {line.label}",
        (rates[-1], means[-1]),
        xytext=(9, line.shift),
        textcoords="offset points",
        color=color,
        va="center",
        fontsize=10.5,
        fontweight="bold" if line.color == "ours" else "normal",
        annotation_clip=False,
    )


def _label_axes(axes: Any, theme: Theme) -> None:
    axes.set_xlim(0, 60)
    axes.set_ylim(28, 100)
    axes.set_xticks(range(0, 61, 10), [f"{rate} %" for rate in range(0, 61, 10)])
    axes.set_yticks(range(40, 101, 20), [f"{accuracy} %" for accuracy in range(40, 101, 20)])
    axes.set_xlabel("share of wrong labels in the training part (uniform noise)", color=theme.text, labelpad=8)
    axes.grid(axis="y", color=theme.grid, linewidth=0.8)
    axes.tick_params(colors=theme.text, length=0, pad=6)
    for spine in axes.spines.values():
        spine.set_visible(False)
