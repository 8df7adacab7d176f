"""Words for the splits and leaves of a fitted tree, shared by its text and its picture."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.class_votes import winning_classes
from core.columns.column import ColumnKind
from core.exceptions import InvalidInput, InvalidParameter
from core.forests.forest import GrownForest
from core.forests.tree import TreeClassifier
from core.growth.tree_structure import Tree

#: Categories of a split that are listed; the others are counted.
_MOST_CATEGORIES = 20


class SplitText(NamedTuple):
    """Conditions of a split: rows that meet `left` go left, all others meet `right`."""

    left: str
    right: str


class TreeText:
    """Words for the nodes of one tree.

    feature_names: (feature,), by default the names of the fit, or `feature_0` and so on.
    class_names: (class,), by default the labels of the fit.
    """

    def __init__(
        self,
        classifier: TreeClassifier,
        feature_names: Sequence[str] | None,
        class_names: Sequence[str] | None,
        decimals: int,
    ) -> None:
        self.tree: Tree = classifier.tree_
        self._decimals = decimals
        self._columns = classifier.columns_ or ()
        self._values = classifier.category_values_
        self._features = _names_of_features(classifier, feature_names)
        self._classes = _names_of_classes(classifier, class_names)

    def split(self, node: int) -> SplitText:
        """Return the conditions of an inner node."""
        feature = int(self.tree.feature[node])
        if np.isnan(self.tree.threshold[node]):
            return self._split_of_categories(node, feature)
        name, threshold = self._features[feature], self._number(feature, float(self.tree.threshold[node]))
        return SplitText(f"{name} <= {threshold}", f"{name} >  {threshold}")

    def _split_of_categories(self, node: int, feature: int) -> SplitText:
        """Return the conditions of a split of categories, which also hold for missing and unseen ones."""
        codes = self.tree.category_set(node).tolist()
        names = [self._category(feature, code) for code in codes[:_MOST_CATEGORIES]]
        more = [f"and {len(codes) - len(names)} more"] if len(names) < len(codes) else []
        listed = f"{{{', '.join([*names, *more])}}}"
        name = self._features[feature]
        inside, outside = f"{name} in {listed}", f"{name} not in {listed}"
        return SplitText(outside, inside) if self.tree.missing_go_to_left[node] else SplitText(inside, outside)

    def _category(self, feature: int, code: int) -> str:
        """Return the name of a category, or its value in X if it has no name."""
        values = self._values[feature] if feature < len(self._values) else None
        value = float(code if values is None else values[code])
        names = self._columns[feature].categories if feature < len(self._columns) else None
        return _shortest(value) if names is None else names[int(value)]

    def _number(self, feature: int, value: float) -> str:
        """Return a threshold, as a time in UTC if the feature is one."""
        if feature < len(self._columns) and self._columns[feature].kind is ColumnKind.DATETIME:
            return str(np.datetime64(round(value), "s")).replace("T", " ")
        return f"{value:.{self._decimals}f}"

    def class_of(self, node: int) -> str:
        """Return the name of the class with the largest share in a node; ties go to the first class."""
        return self._classes[self.class_index(node)]

    def class_index(self, node: int) -> int:
        """Return the number of the class with the largest share in a node, as `predict` chooses it."""
        return int(winning_classes(self.tree.value[node])[0])

    def is_leaf(self, node: int) -> bool:
        return int(self.tree.children_left[node]) < 0

    def children(self, node: int) -> tuple[int, int]:
        """Return the left and the right child of an inner node."""
        return int(self.tree.children_left[node]), int(self.tree.children_right[node])

    def weights(self, node: int) -> NDArray[np.float64]:
        """Return the weight of each class in a node, (class,)."""
        return np.asarray(self.tree.value[node, 0] * self.tree.weighted_n_node_samples[node])

    def depth_below(self, node: int) -> int:
        """Return the number of edges from a node to the deepest leaf below it."""
        deepest, level = 0, [node]
        while level := [child for one in level if not self.is_leaf(one) for child in self.children(one)]:
            deepest += 1
        return deepest


def checked_tree(decision_tree: Any) -> TreeClassifier:
    """Return a fitted tree. Raises InvalidParameter for anything else, NotFittedError before a fit."""
    if not isinstance(decision_tree, TreeClassifier):
        trees = " Choose one of its trees, such as estimators_[0]." if isinstance(decision_tree, GrownForest) else ""
        raise InvalidParameter(
            f"decision_tree is {type(decision_tree).__name__}; it must be a fitted TreeClassifier.{trees}"
        )
    return decision_tree


def check_whole_number(name: str, value: Any, *, or_none: str = "") -> None:
    """Raise InvalidParameter unless the argument `name` is a whole number of at least 0.

    or_none: what None means, if it is allowed.
    """
    if value is None and or_none:
        return
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
        way_out = f", or None ({or_none})" if or_none else ""
        raise InvalidParameter(f"{name} is {value!r:.100}; it must be a whole number of at least 0{way_out}.")


def _names_of_features(classifier: TreeClassifier, names: Sequence[str] | None) -> list[str]:
    n_features = classifier.tree_.n_features
    if names is None and classifier.columns_ is not None:
        names = [column.name for column in classifier.columns_]
    elif names is None:
        names = [f"feature_{j}" for j in range(n_features)]
    if len(names) != n_features:
        raise InvalidInput(f"feature_names has {len(names)} names, and the tree has {n_features} features; name each.")
    return [str(name) for name in names]


def _names_of_classes(classifier: TreeClassifier, names: Sequence[str] | None) -> list[str]:
    n_classes = len(classifier.classes_)
    if names is None:
        names = classifier.classes_.tolist()
    if len(names) != n_classes:
        raise InvalidInput(f"class_names has {len(names)} names, and the tree has {n_classes} classes; name each.")
    return [str(name) for name in names]


def _shortest(value: float) -> str:
    """Return the shortest text of a number that no other number has; numbers may have been float32 in X."""
    if value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    with np.errstate(over="ignore"):
        narrow = np.float32(value)
    return str(narrow) if float(narrow) == value else repr(value)
