"""Files of fitted models as formats 1 and 2 had them."""

import numpy as np

import core
from core.artifact.category_sets import CATEGORY_ARRAYS
from core.growth.tree_structure import Tree
from tests.core.artifact.artifact_files import arrays_in, build_artifact, split_artifact

COLUMNS = [
    "children_left",
    "children_right",
    "feature",
    "threshold",
    "missing_go_to_left",
    "value",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
]


def arrays_of_format_1(model):
    """Return the arrays that format 1 stored for a fitted model."""
    trees = [Tree(nodes, model.n_features_in_) for nodes in model.trees_]
    offsets = np.cumsum([0, *(tree.node_count for tree in trees)], dtype=np.int64)
    columns = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in COLUMNS}
    return {"tree_offsets": offsets, **columns, "value": columns["value"][:, 0, :]}


def header_of_format_1(model, path, **fields):
    core.save(model, path, schema={"columns": ["a"]})
    header, _, _ = split_artifact(path.read_bytes())
    return {**header, "format": 1, **fields}


def save_as_format_1(model, path):
    path.write_bytes(build_artifact(header_of_format_1(model, path), arrays_of_format_1(model)))
    return path


def save_as_format_2(model, path):
    """Write the file that format 2 had for a model, which also lacked the parameter `categorical_features`."""
    core.save(model, path)
    header, _, _ = split_artifact(path.read_bytes())
    header["params"].pop("categorical_features")
    header = {name: value for name, value in header.items() if name not in ("categories", "columns")}
    arrays = {name: array for name, array in arrays_in(path.read_bytes()).items() if name not in CATEGORY_ARRAYS}
    path.write_bytes(build_artifact({**header, "format": 2}, arrays))
