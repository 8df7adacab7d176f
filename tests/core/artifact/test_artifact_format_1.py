"""Files of format 1, built from fitted models: loading, saving in the newest format, and refusal of hostile files."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import core
from core.growth.tree_structure import Tree
from core.kernels.growth.tree_nodes import NO_FEATURE
from tests.core.artifact.artifact_files import (
    arrays_in,
    assert_safe_to_walk,
    build_artifact,
    fitted_model,
    signed,
    split_artifact,
    training_rows,
)
from tests.core.artifact.older_formats import COLUMNS, arrays_of_format_1, header_of_format_1, save_as_format_1
from tests.core.growth.grown_trees import node_bytes

KINDS = ["tree", "forest", "extra_trees"]
LATER_PARAMETERS = ["oob_score", "max_leaf_nodes", "splitter"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.bristlecone"


@pytest.fixture(scope="module")
def model():
    return fitted_model(min_samples_leaf=8)


# Extra trees with `adaptive_ne` are left out: their growth takes long to compile, and their files are like others.
@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        *product(["tree", "forest"], [{"loss": "adaptive_ne"}]),
        *product(KINDS, [{}, {"min_samples_leaf": 8}, {"max_leaf_nodes": 9, "max_depth": 1}]),
    ],
    ids=str,
)
def test_loaded_model_equals_the_saved_one(path, kind, parameters):
    model = fitted_model(kind, **parameters)
    loaded = core.load(save_as_format_1(model, path))
    X, _ = training_rows(seed=1)
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert node_bytes(loaded) == node_bytes(model)
    assert loaded.get_params() == {**model.get_params(), "n_jobs": None}
    assert loaded.schema_ == {"columns": ["a"]}
    for old, nodes in zip(loaded.trees_, model.trees_, strict=True):
        np.testing.assert_allclose(Tree(old, 4).value, Tree(nodes, 4).value, rtol=1e-12)


def test_saving_again_writes_the_newest_format(path, model):
    resaved, directly_saved = path.with_suffix(".anew"), path.with_suffix(".straight")
    core.save(core.load(save_as_format_1(model, path)), resaved)
    core.save(model, directly_saved, schema={"columns": ["a"]})
    assert split_artifact(resaved.read_bytes())[0]["format"] == 4
    assert resaved.read_bytes() == directly_saved.read_bytes()


def test_early_files_may_lack_later_parameters(path, model):
    header = header_of_format_1(model, path)
    header.pop("oob_score")
    for name in LATER_PARAMETERS:
        header["params"].pop(name)
    path.write_bytes(build_artifact(header, arrays_of_format_1(model)))
    loaded = core.load(path)
    assert loaded.get_params() == {**model.get_params(), "n_jobs": None}
    assert not hasattr(loaded, "oob_score_")


def test_tree_without_splits_is_readable(path):
    model = core.TreeClassifier().fit([[1.0], [2.0]], ["a", "a"])
    loaded = core.load(save_as_format_1(model, path))
    assert loaded.predict([[1.0]]).tolist() == ["a"]


@pytest.mark.parametrize("parameter", ["loss", "max_depth"])
def test_original_parameters_are_required(path, model, parameter):
    header = header_of_format_1(model, path)
    header["params"].pop(parameter)
    path.write_bytes(build_artifact(header, arrays_of_format_1(model)))
    with pytest.raises(core.ArtifactError, match="parameters"):
        core.load(path)


def test_format_3_requires_later_parameters(path, model):
    header = header_of_format_1(model, path, format=3)
    header["params"].pop("splitter")
    path.write_bytes(build_artifact(header, arrays_in(path.read_bytes())))
    with pytest.raises(core.ArtifactError, match="parameters"):
        core.load(path)


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": ["forest"]},
        {"kind": "os.system"},
        {"kind": None},
        {"params": None},
        {"params": [["loss", "gini"]]},
        {"params": {}},
        {"classes": {"dtype": "<i8", "labels": [0, 1, 2]}},
        {"n_features": 2},
        {"oob_score": "much"},
        {"arrays": None},
    ],
    ids=str,
)
def test_forged_headers_are_refused(path, model, fields):
    path.write_bytes(
        build_artifact(
            header_of_format_1(model, path, **fields), arrays_of_format_1(model) if "arrays" not in fields else {}
        )
    )
    with pytest.raises(core.ArtifactError):
        core.load(path)


def one_hot(n_rows, n_classes):
    return np.eye(n_classes)[np.zeros(n_rows, dtype=int)]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *((name, lambda column: column[:-1]) for name in COLUMNS),
        *((name, lambda column: column.astype(np.uint8 if column.dtype != np.uint8 else np.int32)) for name in COLUMNS),
        *((name, lambda column: column.reshape(len(column), -1)[:, [0]]) for name in COLUMNS),
        ("value", lambda value: value[:, 0]),
        ("value", lambda value: value[:, :0]),
        ("value", lambda value: one_hot(len(value), 3)),
        ("value", lambda value: one_hot(len(value), 5)),
        ("value", lambda value: value.astype(np.float32).astype("<i4")),
        ("tree_offsets", lambda offsets: offsets[:-1]),
        ("tree_offsets", lambda offsets: offsets[:1]),
        ("tree_offsets", lambda offsets: offsets.astype(np.int32)),
        ("tree_offsets", lambda offsets: offsets[:, np.newaxis]),
        ("tree_offsets", lambda offsets: np.insert(offsets, 1, 0)),
        ("tree_offsets", lambda offsets: np.insert(offsets, 1, 1)),
    ],
)
def test_arrays_of_wrong_shape_or_type_are_refused(path, model, name, change):
    arrays = arrays_of_format_1(model)
    path.write_bytes(build_artifact(header_of_format_1(model, path), {**arrays, name: change(arrays[name])}))
    with pytest.raises(core.ArtifactError):
        core.load(path)


def test_huge_arrays_without_bytes_are_refused(path, model):
    """Arrays of shape (2**39, 0) have no bytes in the file."""
    for width in (0, 1):
        arrays = {name: np.empty((2**39, 0)) for name in ["value", *COLUMNS[:width]]}
        path.write_bytes(build_artifact(header_of_format_1(model, path), {**arrays_of_format_1(model), **arrays}))
        with pytest.raises(core.ArtifactError):
            core.load(path)


@pytest.mark.parametrize("change", [lambda arrays: arrays.pop("value"), lambda arrays: arrays.update(link=np.zeros(3))])
def test_missing_and_unknown_arrays_are_refused(path, model, change):
    arrays = arrays_of_format_1(model)
    change(arrays)
    path.write_bytes(build_artifact(header_of_format_1(model, path), arrays))
    with pytest.raises(core.ArtifactError, match="forest"):
        core.load(path)


def example_nodes(arrays):
    """Return a node of each type."""
    inner = np.flatnonzero(arrays["feature"] != NO_FEATURE)
    return {"root": 0, "inner": inner[1], "leaf": np.flatnonzero(arrays["feature"] == NO_FEATURE)[0]}


@pytest.mark.parametrize("node_type", ["root", "inner", "leaf"])
@pytest.mark.parametrize(
    ("name", "number"),
    [
        *(("children_left", number) for number in (-2, 0, 3, 2**31 - 1, -(2**31))),
        *(("children_right", number) for number in (-2, 0, 1, 2**31 - 1, -(2**31))),
        ("feature", 4),
        ("feature", -1),
        ("threshold", np.nan),
        ("missing_go_to_left", 7),
        ("value", -0.5),
        ("value", 0.5),
        ("value", 1.0),
        ("value", np.nan),
        ("value", np.inf),
        ("value", 1e308),
        ("impurity", np.nan),
        ("n_node_samples", -1),
        ("n_node_samples", 2**31),
        ("n_node_samples", 2**63 - 1),
        ("weighted_n_node_samples", 0.0),
        ("weighted_n_node_samples", np.inf),
    ],
)
def test_invalid_nodes_are_refused(path, model, name, number, node_type):
    arrays = arrays_of_format_1(model)
    arrays[name][example_nodes(arrays)[node_type]] = number
    path.write_bytes(build_artifact(header_of_format_1(model, path), arrays))
    with pytest.raises(core.ArtifactError):
        core.load(path)


@pytest.mark.parametrize("change", [{"children_left": -1}, {"children_right": -1}, {"feature": NO_FEATURE}], ids=str)
def test_inner_node_with_leaf_fields_is_refused(path, model, change):
    for node_type in ("root", "inner"):
        arrays = arrays_of_format_1(model)
        for name, number in change.items():
            arrays[name][example_nodes(arrays)[node_type]] = number
        path.write_bytes(build_artifact(header_of_format_1(model, path), arrays))
        with pytest.raises(core.ArtifactError, match="child"):
            core.load(path)


def test_nearly_pure_leaf_keeps_its_distribution(path, model):
    arrays = arrays_of_format_1(model)
    leaf = example_nodes(arrays)["leaf"]
    arrays["value"][leaf] = [1.0, 2e-9, 0.0, 0.0]
    path.write_bytes(build_artifact(header_of_format_1(model, path), arrays))
    assert core.load(path).estimators_[0].tree_.value[leaf, 0].tolist() == [1.0, 2e-9, 0.0, 0.0]


@pytest.fixture(scope="module")
def tree_path(tmp_path_factory):
    return save_as_format_1(fitted_model("tree", min_samples_leaf=8), tmp_path_factory.mktemp("format_1") / "model")


@settings(max_examples=200, deadline=None)
@given(position=st.floats(0, 1, exclude_max=True), flips=st.lists(st.integers(1, 255), min_size=1, max_size=8))
def test_flipped_bytes_with_a_valid_checksum_never_crash(tmp_path_factory, tree_path, position, flips):
    body = bytearray(tree_path.read_bytes()[:-32])
    for i, flip in enumerate(flips):
        body[(int(position * len(body)) + i) % len(body)] ^= flip
    path = tmp_path_factory.mktemp("sign") / "model"
    path.write_bytes(signed(bytes(body)))
    try:
        model = core.load(path)
    except core.ArtifactError:
        return
    assert_safe_to_walk(model)
