"""Picture of a fitted tree, drawn with matplotlib, which is an optional dependency."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidParameter
from core.inspection.tree_text import TreeText, check_whole_number, checked_tree

_SATURATION, _BRIGHTNESS = 0.65, 0.9
#: Strength of the color of a pure node, weak enough for black text.
_STRONGEST = 0.75
_FONT_SIZE = 10
#: Boxes that name their numbers.
_LABELED = ("all", "root", "none")


class _Place(NamedTuple):
    """Node and its place in the picture: `column` in units of leaves, `depth` in edges from the root."""

    node: int
    parent: int | None  # index of the parent's place
    column: float
    depth: int
    is_truncated: bool


def plot_tree(
    decision_tree: Any,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | bool | None = None,
    label: Literal["all", "root", "none"] = "all",
    filled: bool = False,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rounded: bool = False,
    precision: int = 3,
    ax: Any = None,
    fontsize: int | None = None,
) -> list[Any]:
    """Draw a fitted TreeClassifier, with the arguments of scikit-learn's `plot_tree`, and return the annotations.

    max_depth: deeper branches are drawn as one box; None: no limit. feature_names: (feature,), by default the column
        names of the fit. class_names: True for the labels, or (class,) names; None shows no classes. label: which boxes
        name their numbers. filled: whether boxes have the color of their class. impurity: whether to show the impurity
        under the loss. node_ids: whether to show node numbers. proportion: whether to show shares instead of numbers of
        rows. rounded: whether boxes have round corners. precision: digits of numbers. ax: axes to draw on, by default
        the current ones. fontsize: by default as large as fits.

    Raises ImportError without matplotlib, and the errors of `export_text`.
    """
    _check_arguments(max_depth, precision, label)
    pyplot = _pyplot()
    names = None if class_names is None or isinstance(class_names, bool) else class_names
    text = TreeText(checked_tree(decision_tree), feature_names, names, precision)
    impurity_name = decision_tree.loss_.kind if impurity else ""
    shows_classes = class_names is not None and class_names is not False
    labels = _Labels(text, impurity_name, shows_classes, label, node_ids, proportion, precision)
    axes = pyplot.gca() if ax is None else ax
    places = list(_places(text, max_depth))
    annotations = [_draw(axes, place, places, labels, filled, rounded, fontsize) for place in places]
    _set_limits(axes, places)
    if fontsize is None:
        _shrink(axes, annotations, places)
    return annotations


def _check_arguments(max_depth: Any, precision: Any, label: Any) -> None:
    check_whole_number("max_depth", max_depth, or_none="no limit")
    check_whole_number("precision", precision)
    if label not in _LABELED:
        raise InvalidParameter(f"label is {label!r:.100}; it must be one of {', '.join(map(repr, _LABELED))}.")


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot  # noqa: PLC0415  (an optional dependency)
    except ImportError as error:
        raise ImportError("plot_tree requires matplotlib; install it with: pip install 'bristlecone[plot]'") from error
    return pyplot


def _places(text: TreeText, max_depth: int | None) -> Iterator[_Place]:
    """Yield the places, parents first. Leaves have columns 0, 1, ..., and parents stand between their children."""
    order: list[_Place] = []
    stack: list[tuple[int, int | None, int]] = [(0, None, 0)]
    while stack:
        node, parent, depth = stack.pop()
        is_cut = max_depth is not None and depth > max_depth
        order.append(_Place(node, parent, 0.0, depth, is_cut))
        if not (is_cut or text.is_leaf(node)):
            left, right = text.children(node)
            here = len(order) - 1
            stack += [(right, here, depth + 1), (left, here, depth + 1)]
    for place, column in zip(order, _columns(order), strict=True):
        yield place._replace(column=column)


def _columns(order: list[_Place]) -> NDArray[np.float64]:
    """Return the column of each place; `order` is in preorder."""
    children: list[list[int]] = [[] for _ in order]
    for i, place in enumerate(order):
        if place.parent is not None:
            children[place.parent].append(i)
    columns = np.zeros(len(order))
    leaves = [i for i, below in enumerate(children) if not below]
    columns[leaves] = np.arange(len(leaves))
    for i in reversed(range(len(order))):
        if children[i]:
            columns[i] = columns[children[i]].mean()
    return columns


class _Labels:
    """Texts of the boxes."""

    def __init__(
        self,
        text: TreeText,
        impurity_name: str,
        shows_classes: bool,
        label: Literal["all", "root", "none"],
        node_ids: bool,
        proportion: bool,
        precision: int,
    ) -> None:
        self.text = text
        self._impurity_name = impurity_name
        self._shows_classes = shows_classes
        self._label = label
        self._node_ids = node_ids
        self._proportion = proportion
        self._precision = precision

    def of_node(self, node: int) -> str:
        """Return the lines of a box."""
        tree, named = self.text.tree, self._label == "all" or (self._label == "root" and node == 0)
        entries = [("samples", self._count(node)), ("value", self._values(node))]
        if self._impurity_name:
            entries.insert(0, (self._impurity_name, f"{tree.impurity[node]:.{self._precision}f}"))
        if self._shows_classes:
            entries.append(("class", self.text.class_of(node)))
        lines = [f"{name} = {value}" if named else value for name, value in entries]
        if not self.text.is_leaf(node):
            lines.insert(0, self.text.split(node).left)
        if self._node_ids:
            lines.insert(0, f"node #{node}" if named else f"#{node}")
        return "\n".join(lines)

    def _count(self, node: int) -> str:
        counts = self.text.tree.n_node_samples
        return f"{100 * counts[node] / counts[0]:.1f}%" if self._proportion else str(counts[node])

    def _values(self, node: int) -> str:
        values = self.text.tree.value[node, 0] if self._proportion else self.text.weights(node)
        return "[" + ", ".join(f"{round(value, self._precision):g}" for value in values) + "]"


def _draw(
    axes: Any,
    place: _Place,
    places: list[_Place],
    labels: _Labels,
    filled: bool,
    rounded: bool,
    fontsize: int | None,
) -> Any:
    """Draw one box, with an arrow from its parent, and return its annotation."""
    box = {
        "boxstyle": "round" if rounded else "square",
        "fc": _color(labels.text, place.node) if filled and not place.is_truncated else "white",
        "ec": "black",
    }
    at = (place.column, -place.depth)
    options = {"ha": "center", "va": "center", "size": fontsize or _FONT_SIZE, "bbox": box, "zorder": 100 - place.depth}
    text = "\n  (...)  \n" if place.is_truncated else labels.of_node(place.node)
    if place.parent is None:
        return axes.annotate(text, at, **options)
    parent = places[place.parent]
    return axes.annotate(
        text, (parent.column, -parent.depth), xytext=at, arrowprops={"arrowstyle": "<-", "color": "black"}, **options
    )


def _color(text: TreeText, node: int) -> tuple[float, ...]:
    """Return the hue of the class of a node, the paler the closer the second class is."""
    from matplotlib.colors import hsv_to_rgb  # noqa: PLC0415  (an optional dependency)

    shares = text.tree.value[node, 0]
    largest = text.class_index(node)
    second = float(np.max(np.delete(shares, largest), initial=0.0))
    strength = _STRONGEST * np.clip((shares[largest] - second) / max(1 - second, 1e-9), 0, 1)
    rgb = hsv_to_rgb((largest / len(shares), _SATURATION, _BRIGHTNESS))
    return tuple(float(part) for part in strength * rgb + (1 - strength))


def _set_limits(axes: Any, places: list[_Place]) -> None:
    axes.set_axis_off()
    axes.set_xlim(-0.5, max(place.column for place in places) + 0.5)
    axes.set_ylim(-max(place.depth for place in places) - 0.5, 0.5)


def _shrink(axes: Any, annotations: list[Any], places: list[_Place]) -> None:
    """Set the largest font size at which no box is wider than a column or higher than a level."""
    renderer = axes.figure.canvas.get_renderer()
    for annotation in annotations:
        annotation.update_bbox_position_size(renderer)
    extents = [annotation.get_bbox_patch().get_window_extent() for annotation in annotations]
    window = axes.get_window_extent()
    width = window.width / (max(place.column for place in places) + 1)
    height = window.height / (max(place.depth for place in places) + 1)
    widest, highest = max(extent.width for extent in extents), max(extent.height for extent in extents)
    size = annotations[0].get_fontsize() * min(width / widest, height / highest)
    for annotation in annotations:
        annotation.set_fontsize(size)
