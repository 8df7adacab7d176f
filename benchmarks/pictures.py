"""Pictures of the pages of results, drawn from the measured cells, for light and for dark pages.

python -m benchmarks.pictures
python -m benchmarks.pictures --only growth

`--only` selects pictures, `--folder` another folder than docs/images. Needs matplotlib.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data import CHECKOUT
from benchmarks.papers.boosting_problems import CASES
from benchmarks.papers.minimax_boosting import most_partitions
from benchmarks.papers.tree_losses import LAMBDAS, our_estimates
from benchmarks.speed.growth import MODELS, least_seconds
from benchmarks.themes import THEMES, Theme

try:
    import matplotlib as mpl
    from matplotlib.colors import to_rgb
    from matplotlib.figure import Figure
except ImportError:
    raise SystemExit("matplotlib is not installed; run `pip install -e '.[benchmarks]'`.") from None

MEASURED = CHECKOUT / "docs" / "measured"
#: Field of Theme and marker of each noise of the boosting paper.
_NOISE_STYLES = {
    "clean": ("others", "o", "-"),
    "uniform 10 %": ("ours", "o", "--"),
    "uniform 20 %": ("ours", "s", "-"),
    "adversarial 10 %": ("boosted", "o", "--"),
    "adversarial 20 %": ("boosted", "s", "-"),
}
_FOREST_STYLES = {
    "forest, Gini": ("ours", "-", "Bristlecone (Gini)"),
    "forest, adaptive NE": ("ours", "--", "Bristlecone (adaptive NE)"),
    "scikit-learn": ("others", "-", "scikit-learn"),
    "LightGBM": ("boosted", "-", "LightGBM"),
    "XGBoost": ("boosted", "--", "XGBoost"),
}
_AUDIT_TABLES = ("optdigits", "mnist", "covertype", "wdbc", "vehicle", "german_numer")
_AUDIT_RATES = (10, 20, 40)
_LAMBDA_SETS = ("MNIST", "Covertype", "UNSW-NB15")
_UNIFORM_RATES = {"uniform 0": 0, "uniform .1": 10, "uniform .2": 20, "uniform .3": 30, "uniform .4": 40}


class Picture(NamedTuple):
    """Measured cells of a picture, its size in inches, its texts and the function that draws its content."""

    cells: str
    size: tuple[float, float]
    title: str
    subtitle: str
    draw: Callable[[Figure, list[Any], Theme], None]


def read_cells(name: str) -> list[dict[str, Any]]:
    """Return the cells of a file of docs/measured."""
    return [json.loads(line) for line in (MEASURED / f"{name}.jsonl").read_text().splitlines()]


def _plain_axes(figure: Figure, place: tuple[float, float, float, float], theme: Theme) -> Any:
    axes = figure.add_axes(place)
    axes.set_facecolor(theme.background)
    axes.grid(color=theme.grid, linewidth=0.8)
    axes.tick_params(colors=theme.text, length=0, pad=6, which="both")
    for spine in axes.spines.values():
        spine.set_visible(False)
    return axes


def _label_end(axes: Any, x: float, y: float, text: str, color: str, shift: float = 0.0) -> None:
    axes.annotate(
        text, (x, y), xytext=(8, shift), textcoords="offset points", color=color, va="center", annotation_clip=False
    )


def draw_risk_against_error(figure: Figure, cells: list[Any], theme: Theme) -> None:
    """Draw the mean minimax risk (x) and the mean test error (y) of each data set and noise."""
    axes = _plain_axes(figure, (0.09, 0.12, 0.56, 0.70), theme)
    axes.plot([8, 45], [8, 45], color=theme.muted, linewidth=1.2)
    axes.text(46.3, 45.0, "error = R", color=theme.muted, va="center")
    chosen = most_partitions(cells, "table3")
    for case, (color, marker, _) in _NOISE_STYLES.items():
        points = [cell for (_, c, method), cell in chosen.items() if (c, method) == (case, "rmboost")]
        x, y = [cell["risk"] for cell in points], [cell["error"] for cell in points]
        fill = getattr(theme, color) if marker == "s" or case == "clean" else theme.background
        axes.scatter(x, y, s=46, marker=marker, edgecolor=getattr(theme, color), facecolor=fill, label=case, zorder=3)
    axes.set(xlim=(10, 46), ylim=(10, 46))
    _percent_ticks(axes)
    axes.set_xlabel("minimax risk R of the training data", color=theme.text, labelpad=8)
    axes.set_ylabel("error on correct test labels", color=theme.text, labelpad=8)
    axes.legend(loc="center left", bbox_to_anchor=(1.03, 0.5), frameon=False, labelcolor=theme.text)


def _percent_ticks(axes: Any) -> None:
    ticks = range(10, 46, 10)
    axes.set_xticks(ticks, [f"{tick} %" for tick in ticks])
    axes.set_yticks(ticks, [f"{tick} %" for tick in ticks])


def draw_risk_path(figure: Figure, cells: list[Any], theme: Theme) -> None:
    """Draw the minimax risk after each round."""
    axes = _plain_axes(figure, (0.08, 0.13, 0.62, 0.69), theme)
    by_case = {cell["case"]: cell for cell in cells}
    for case in CASES:
        color, _, style = _NOISE_STYLES[case]
        path = by_case[case]["risk_path"]
        axes.plot(range(1, len(path) + 1), path, color=getattr(theme, color), linestyle=style, linewidth=2)
        axes.plot([len(path)], [path[-1]], marker="o", color=getattr(theme, color), markersize=5)
        _label_end(axes, len(path), path[-1], f"{case}: {path[-1]:.1f} %", getattr(theme, color))
    axes.set_xlim(0, 300)
    ticks = range(24, 45, 4)
    axes.set_yticks(ticks, [f"{tick} %" for tick in ticks])
    axes.set_xlabel("rounds", color=theme.text, labelpad=8)


def draw_growth(figure: Figure, cells: list[Any], theme: Theme) -> None:
    """Draw processor seconds of a fit against the number of rows, both on logarithmic axes."""
    axes = _plain_axes(figure, (0.09, 0.13, 0.62, 0.69), theme)
    found = least_seconds(cells)
    for model in MODELS:
        color, style, label = _FOREST_STYLES[model]
        points = sorted((rows, seconds) for (name, rows), seconds in found.items() if name == model)
        if points:
            axes.loglog(
                *zip(*points, strict=True), color=getattr(theme, color), linestyle=style, linewidth=2.2, marker="o"
            )
            _label_end(axes, *points[-1], f"{points[-1][1]:.1f} s  {label}", getattr(theme, color))
    sizes = sorted({rows for _, rows in found})
    axes.set_xticks(sizes, [f"{rows // 1000},000" for rows in sizes], minor=False)
    axes.minorticks_off()
    times = [time for time in (0.01, 0.1, 1.0, 10.0, 100.0) if min(found.values()) / 3 < time < 3 * max(found.values())]
    axes.set_yticks(times, [f"{time:g} s" for time in times])
    axes.set_xlabel("training rows", color=theme.text, labelpad=8)


def draw_audit_precision(figure: Figure, cells: list[Any], theme: Theme) -> None:
    """Draw the average precision at finding wrong labels against their share, one panel per table."""
    found = {(cell["table"], cell["noise"]): cell for cell in cells}
    for number, table in enumerate(_AUDIT_TABLES):
        row, column = divmod(number, 3)
        axes = _plain_axes(figure, (0.07 + 0.31 * column, 0.50 - 0.40 * row, 0.27, 0.29), theme)
        points = [found[table, f"uniform {rate} %"] for rate in _AUDIT_RATES]
        for value, color in (("cleanlab_best", "others"), ("ours", "ours")):
            axes.plot(
                _AUDIT_RATES, [cell[value] for cell in points], color=getattr(theme, color), marker="o", linewidth=2
            )
        axes.set_title(table, color=theme.text, fontsize=10.5, loc="left")
        axes.set(xlim=(5, 45), ylim=(0.35, 1.03))
        axes.set_xticks(_AUDIT_RATES, [f"{rate} %" for rate in _AUDIT_RATES])
        axes.set_yticks((0.4, 0.6, 0.8, 1.0))
    figure.text(0.70, 0.925, "Bristlecone", color=theme.ours, fontsize=11, fontweight="bold")
    figure.text(0.82, 0.925, "cleanlab's best score", color=theme.others, fontsize=11)


def draw_lambda(figure: Figure, cells: list[Any], theme: Theme) -> None:
    """Draw the accuracy of trees against the share of wrong labels for each lambda, one panel per data set."""
    found = our_estimates([cell for cell in cells if cell["table"] == "table3"])
    rates, colors = list(_UNIFORM_RATES.values()), _shades(theme.boosted, theme.ours, len(LAMBDAS))
    for number, data in enumerate(_LAMBDA_SETS):
        axes = _plain_axes(figure, (0.05 + 0.29 * number, 0.10, 0.24, 0.64), theme)
        for criterion, color in zip(LAMBDAS, colors, strict=True):
            estimates = [found["table3", data, criterion, noise] for noise in _UNIFORM_RATES]
            means, spreads = np.array([one.mean for one in estimates]), np.array([one.spread for one in estimates])
            axes.fill_between(rates, means - spreads, means + spreads, color=color, alpha=0.2, linewidth=0)
            axes.plot(rates, means, color=color, marker="o", markersize=4, linewidth=2)
        axes.set_title(data, color=theme.text, fontsize=10.5, loc="left")
        axes.set_xticks(rates, [f"{rate} %" for rate in rates])
    for line, (criterion, color) in enumerate(zip(LAMBDAS, colors, strict=True)):
        axes.text(1.08, 0.95 - 0.1 * line, f"lambda {criterion[3:]}", color=color, transform=axes.transAxes)


def _shades(first: str, last: str, n_colors: int) -> list[tuple[float, ...]]:
    """Return colors from `first` to `last` in equal steps."""
    ends = np.array([to_rgb(first), to_rgb(last)])
    return [tuple((1 - share) * ends[0] + share * ends[1]) for share in np.linspace(0.0, 1.0, n_colors)]


PICTURES = {
    "lambda": Picture(
        "tree_losses",
        (9.6, 4.2),
        "Accuracy of single trees for each lambda of the loss NE",
        "All classes, uniform noise, accuracy on correct labels in percent, ± two standard deviations of five draws",
        draw_lambda,
    ),
    "risk_against_error": Picture(
        "minimax_boosting",
        (9.6, 6.4),
        "The minimax risk of RMBoost and its error on correct labels",
        "Six data sets under five kinds of noise; means of 100 partitions. Labels of the test part are correct.",
        draw_risk_against_error,
    ),
    "risk_path": Picture(
        "risk_path",
        (9.6, 5.0),
        "The minimax risk of RMBoost after each round",
        "RMBoost (sign) on one partition of german; ends at 300 rounds, or when no rule has an edge above lambda",
        draw_risk_path,
    ),
    "growth": Picture(
        "growth",
        (9.6, 5.0),
        "Processor time of a fit against the number of rows",
        "Forests of 20 trees, one thread, 50 features, five classes; both axes are logarithmic",
        draw_growth,
    ),
    "audit_precision": Picture(
        "audit",
        (9.6, 5.6),
        "Average precision at finding wrong labels",
        "Share of wrong labels (uniform noise) on the horizontal axis",
        draw_audit_precision,
    ),
}


def draw_picture(name: str, folder: Path) -> None:
    """Write one SVG per theme into the folder; the same cells give the same bytes."""
    picture, cells = PICTURES[name], read_cells(PICTURES[name].cells)
    settings: Any = {"svg.hashsalt": name, "font.family": "DejaVu Sans", "font.size": 10.5}
    with mpl.rc_context(settings):
        for theme in THEMES:
            figure = Figure(figsize=picture.size)
            picture.draw(figure, cells, theme)
            height = picture.size[1]
            figure.text(0.018, 1 - 0.33 / height, picture.title, color=theme.text, fontsize=14, fontweight="bold")
            figure.text(0.018, 1 - 0.60 / height, picture.subtitle, color=theme.muted, fontsize=10.5)
            path = folder / f"{name}_{theme.name}.svg"
            figure.savefig(path, facecolor=theme.background, metadata={"Date": None})


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pictures", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PICTURES, default=list(PICTURES))
    parser.add_argument("--folder", type=Path, default=CHECKOUT / "docs" / "images")
    arguments = parser.parse_args(words)
    for name in arguments.only:
        draw_picture(name, arguments.folder)


if __name__ == "__main__":
    main()
