"""Trees and importances of trained models, in terms of their columns and labels."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.inspection.errors import TreeNotFound
from app.predictions.service import ServedModel
from app.settings import Limits
from app.storage.pages import Listed, SliceQuery
from core import Column, ColumnKind
from core.service_api import InspectedTree, NodeRecord, SplitRecord, impurity_importances, split_features

#: Most numbers and texts of one part of a tree; a part has at least one node.
MAX_CELLS = 200_000
#: Fields of a node beside its distribution and its categories.
_CELLS_PER_NODE = 16
#: Characters that count as much as a number.
_CHARACTERS_PER_CELL = 16


@dataclass(frozen=True)
class TreePart:
    """Tree of a model and some of its nodes."""

    tree: InspectedTree
    n_trees: int
    nodes: list[dict[str, Any]]
    next_cursor: str | None


def tree_part(served: ServedModel, number: int, page: SliceQuery, limits: Limits) -> TreePart:
    """Return the nodes of one page of a tree, fewer if they are large. Raises TreeNotFound, InvalidCursor."""
    n_trees = len(served.estimator.trees_)
    if number >= n_trees:
        trees = f"trees 0 to {n_trees - 1}" if n_trees > 1 else "one tree, number 0"
        detail = f"{served.name}:{served.version} has no tree {number}; it has {trees}"
        raise TreeNotFound.at("path/number", detail)
    tree = InspectedTree(served.estimator, number)
    list_name = f"tree {number} of {served.id}"
    start = page.offset(list_name)
    nodes = list(_within(tree.nodes(start), served, page.limit, min(MAX_CELLS, limits.max_answer_cells)))
    end = start + len(nodes)
    more = page.cursor_at(list_name, end) if end < tree.n_nodes else None
    return TreePart(tree, n_trees, nodes, more)


def _within(nodes: Iterator[NodeRecord], served: ServedModel, limit: int, max_cells: int) -> Iterator[dict[str, Any]]:
    """Yield up to `limit` nodes as answers show them, until they have too many cells."""
    n_cells = 0
    for number, node in enumerate(nodes):
        if number == limit:
            return
        shown = _shown(node, served.encoder.columns)
        n_cells += _CELLS_PER_NODE + len(node.distribution) + _cells(shown["categories"] or ())
        if number and n_cells > max_cells:
            return
        yield shown


def _cells(categories: list[str] | tuple[()]) -> int:
    return sum(1 + len(category) // _CHARACTERS_PER_CELL for category in categories)


def _shown(node: NodeRecord, columns: tuple[Column, ...]) -> dict[str, Any]:
    values = node._asdict()
    split: SplitRecord | None = values.pop("split")
    return {"node": values.pop("number"), **values, **_shown_split(split, columns)}


def _shown_split(split: SplitRecord | None, columns: tuple[Column, ...]) -> dict[str, Any]:
    if split is None:
        return dict.fromkeys(("feature", "threshold", "categories", "categories_go", "missing_goes", "left", "right"))
    column = columns[split.feature]
    return {
        "feature": column.name,
        "threshold": None if split.threshold is None else _shown_threshold(split.threshold, column),
        "categories": None if split.categories is None else _names(split.categories, column),
        "categories_go": None if split.categories_go_left is None else _side(split.categories_go_left),
        "missing_goes": _side(split.missing_go_left),
        "left": split.left,
        "right": split.right,
    }


def _side(is_left: bool) -> str:
    return "left" if is_left else "right"


def _names(categories: tuple[int, ...], column: Column) -> list[str]:
    names = column.categories
    return [str(code) if names is None or code >= len(names) else names[code] for code in categories]


def _shown_threshold(threshold: float, column: Column) -> float | str:
    if column.kind is ColumnKind.DATETIME:
        return f"{np.datetime64(round(1000 * threshold), 'ms')}Z"
    return threshold


@dataclass(frozen=True)
class FeatureImportance:
    """Importance of one feature; None where it was not measured."""

    feature: str
    impurity: float
    impurity_sd: float | None
    permutation: float | None
    permutation_sd: float | None


def feature_importances(
    served: ServedModel, permutation: dict[str, Any], page: SliceQuery
) -> Listed[FeatureImportance]:
    """Return one page of the importances of all features, the most important by impurity first.

    permutation: `importances` of the model; its `features` are [mean, sd] by the number of the feature.

    Raises:
        InvalidCursor: `page.cursor` was not made for this model.
    """
    list_name = f"importances of {served.id}"
    start = page.offset(list_name)
    found = _feature_importances(served, permutation)
    rest = found[start : start + page.limit + 1]
    return Listed(rest[: page.limit], page.next_cursor(list_name, len(rest)), len(found))


def _feature_importances(served: ServedModel, permutation: dict[str, Any]) -> list[FeatureImportance]:
    impurity = impurity_importances(served.estimator)
    columns = served.encoder.columns
    sd = [None] * len(columns) if impurity.sd is None else impurity.sd.tolist()
    measured = _measured(served, permutation)
    found = [
        FeatureImportance(column.name, impurity.mean[j].item(), sd[j], *measured.get(j, (None, None)))
        for j, column in enumerate(columns)
    ]
    return sorted(found, key=lambda one: (-one.impurity, one.permutation is None, -(one.permutation or 0.0)))


def _measured(served: ServedModel, permutation: dict[str, Any]) -> dict[int, tuple[float, float]]:
    """Return mean and standard deviation by the number of the feature; 0 for features that no tree splits by."""
    features = permutation.get("features")
    if features is None:
        return {}
    unused = set(range(len(served.encoder.columns))) - set(split_features(served.estimator).tolist())
    return dict.fromkeys(unused, (0.0, 0.0)) | {int(j): (mean, sd) for j, (mean, sd) in features.items()}
