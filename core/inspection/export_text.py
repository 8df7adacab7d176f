"""Text of a fitted tree, one line per condition and leaf, in scikit-learn's format."""

from collections.abc import Iterator, Sequence
from typing import Any

from core.inspection.tree_text import TreeText, check_whole_number, checked_tree


def export_text(
    decision_tree: Any,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
) -> str:
    """Return the rules of a fitted TreeClassifier as text, in the format of scikit-learn's `export_text`.

    feature_names: (feature,), by default the column names of the fit, or `feature_0` and so on.
    class_names: (class,) in the order of `classes_`, by default the labels.
    max_depth: deeper branches are truncated; None: no limit. spacing: width of the indentation. decimals: digits of
        thresholds and weights. show_weights: whether leaves show the weight of each class.

    Raises InvalidParameter for other estimators and for numbers that are not whole or negative, and InvalidInput for a
    wrong number of names.
    """
    check_whole_number("max_depth", max_depth, or_none="no limit")
    for name, number in (("spacing", spacing), ("decimals", decimals)):
        check_whole_number(name, number)
    text = TreeText(checked_tree(decision_tree), feature_names, class_names, decimals)
    writer = _Writer(text, max_depth, spacing, decimals, show_weights)
    return "".join(f"{line}\n" for line in writer.lines(0, 0))


class _Writer:
    def __init__(self, text: TreeText, max_depth: int | None, spacing: int, decimals: int, show_weights: bool) -> None:
        self._text = text
        self._max_depth = max_depth
        self._spacing = spacing
        self._decimals = decimals
        self._show_weights = show_weights

    def lines(self, node: int, depth: int) -> Iterator[str]:
        """Yield the lines of the branch below a node at `depth` edges from the root."""
        margin = ("|" + " " * self._spacing) * depth + "|" + "-" * self._spacing
        if self._text.is_leaf(node):
            yield f"{margin} {self._leaf(node)}"
            return
        if self._max_depth is not None and depth > self._max_depth:
            yield f"{margin} truncated branch of depth {self._text.depth_below(node) + 1}"
            return
        conditions = self._text.split(node)
        for condition, child in zip(conditions, self._text.children(node), strict=True):
            yield f"{margin} {condition}"
            yield from self.lines(child, depth + 1)

    def _leaf(self, node: int) -> str:
        if not self._show_weights:
            return f"class: {self._text.class_of(node)}"
        weights = ", ".join(f"{weight:.{self._decimals}f}" for weight in self._text.weights(node))
        return f"weights: [{weights}] class: {self._text.class_of(node)}"
