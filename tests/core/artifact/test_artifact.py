"""Artifact files: round trips, reproducible bytes, and refusals on writing."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import core
from core.artifact import format as artifact
from tests.core.artifact.artifact_files import arrays_in, fitted_model, training_rows
from tests.core.growth.grown_trees import node_bytes


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.bristlecone"


@pytest.mark.parametrize("kind", ["tree", "forest"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"loss": {"kind": "ne", "lambda": 0.25}},
        {"loss": "adaptive_ne"},
        {"loss": "gce"},
        {"loss": {"kind": "gce", "q": 1.5}},
        {"loss": {"kind": "distribution", "cdf": "t", "parameters": {"df": 3, "loc": -0.5}}},
        {"loss": "distribution"},
        {"loss": "twoing"},
        {"loss": {"kind": "credal", "s": 2}},
        {"loss": "ranking"},
        {"class_weight": {0: 2.0, 1: 1}, "max_depth": 3},
    ],
    ids=str,
)
def test_round_trip(path, kind, parameters):
    model = fitted_model(kind, **parameters)
    core.save(model, path, schema={"columns": ["a", "b"]})
    loaded = core.load(path)
    X, _ = training_rows(seed=1)
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert loaded.schema_ == {"columns": ["a", "b"]}
    assert repr(loaded.loss_) == repr(model.loss_)
    assert loaded.get_params() == {**model.get_params(), "n_jobs": None}
    assert getattr(loaded, "tuning_scores_", None) == getattr(model, "tuning_scores_", None)
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)


@pytest.mark.parametrize(
    "labels",
    [
        ["no", "maybe", "yes", "never"],
        [True, False, True, False],
        [-1, 5, 7, 9],
        [0.5, 1.5, 2.5, 3.5],
        [True, 3, "x", 2.5],
    ],
    ids=str,
)
def test_labels_keep_their_types(path, labels):
    X, y = training_rows()
    named = np.empty(len(y), dtype=object)
    named[:] = [labels[k] for k in y]
    plain = len({type(k) for k in labels}) == 1 and not isinstance(labels[0], float)
    for class_labels in [named, named.tolist()] if plain else [named]:
        model = core.TreeClassifier().fit(X, class_labels)
        core.save(model, path)
        restored = core.load(path).classes_
        assert restored.tolist() == model.classes_.tolist()
        assert [type(k) for k in restored.tolist()] == [type(k) for k in model.classes_.tolist()]


def test_bytes_depend_on_data_parameters_and_seed_only(path):
    X, y = training_rows()
    contents = []
    for n_jobs in [1, 2]:
        core.save(core.ForestClassifier(n_estimators=5, random_state=0, n_jobs=n_jobs).fit(X, y), path)
        contents.append(path.read_bytes())
    core.save(core.load(path), path.with_suffix(".again"))
    assert contents[0] == contents[1] == path.with_suffix(".again").read_bytes()
    core.save(core.ForestClassifier(n_estimators=5, random_state=1).fit(X, y), path)
    assert path.read_bytes() != contents[0]


def test_file_stores_trees_contiguously(path):
    model = fitted_model()
    core.save(model, path)
    arrays = arrays_in(path.read_bytes())
    prefixes = ("tree", "mixed", "category", "category_block")
    offsets = {name: list(pairwise(arrays.pop(f"{name}_offsets"))) for name in prefixes}
    divided_by = {
        "mixed": "mixed",
        "category_nodes": "category",
        "category_set_sizes": "category",
        "category_blocks": "category_block",
    }
    node_columns = [
        array[slice(*offsets[divided_by.get(name, "tree")][tree])].tobytes()
        for tree in range(len(model.trees_))
        for name, array in arrays.items()
    ]
    assert node_columns == node_bytes(model) == node_bytes(core.load(path))
    fields = [name.replace("impure_distributions", "mixed") for name in model.trees_[0]._fields]
    assert list(arrays) == fields


def test_saving_and_loading_make_no_copy_of_the_trees(path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 3)), rng.integers(5, size=1000)
    model = core.ForestClassifier(n_estimators=40, random_state=0).fit(X, y)
    for operation in [lambda: core.save(model, path), lambda: core.load(path)]:
        tracemalloc.start()
        operation()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.25 * path.stat().st_size


def test_arrays_are_mapped_and_aligned(path):
    core.save(fitted_model(), path)
    trees = core.load(path).trees_
    assert not any(array.flags.owndata for nodes in trees for array in nodes)
    assert all(array.ctypes.data % 64 == 0 for array in trees[0])
    for nodes, next_nodes in pairwise(trees):
        assert [array.ctypes.data + array.nbytes for array in nodes] == [array.ctypes.data for array in next_nodes]


def test_unfitted_estimator_cannot_be_saved(path):
    with pytest.raises(core.ArtifactError, match="this TreeClassifier is not fitted; call fit"):
        core.save(core.TreeClassifier(), path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("name", "number"),
    [("impurity", np.inf), ("threshold", np.nan), ("weighted_n_node_samples", np.inf), ("impure_distributions", 2.0)],
)
def test_saving_refuses_models_that_loading_would_refuse(path, name, number):
    model = fitted_model(min_samples_leaf=20)
    getattr(model.trees_[-1], name)[0] = number
    with pytest.raises(core.ArtifactError):
        core.save(model, path)
    assert not path.exists()


@pytest.mark.parametrize(
    "schema", [{"mean": float("nan")}, {"values": {1, 2}}, {"text": "x" * 2**25}], ids=["nan", "set", "long"]
)
def test_saving_refuses_schemas_that_loading_would_refuse(path, schema):
    with pytest.raises(core.ArtifactError):
        core.save(fitted_model(), path, schema=schema)
    assert not path.exists()


def test_feature_names_are_kept(path):
    model = fitted_model("tree")
    model.feature_names_in_ = np.array(list("abcd"), dtype=object)
    core.save(model, path)
    assert core.load(path).feature_names_in_.tolist() == list("abcd")


def test_out_of_bag_score_is_kept_but_its_votes_are_not(path):
    model = fitted_model(oob_score=True, n_estimators=30)
    core.save(model, path)
    loaded = core.load(path)
    assert loaded.oob_score_ == model.oob_score_
    assert not hasattr(loaded, "oob_decision_function_")
    assert loaded.get_params()["oob_score"] is True


@pytest.mark.filterwarnings("ignore:.*out-of-bag votes")
def test_undefined_out_of_bag_score_is_not_kept(path):
    model = core.ForestClassifier(n_estimators=3, oob_score=True).fit([[1.0]], [0])
    assert np.isnan(model.oob_score_)
    core.save(model, path)
    assert not hasattr(core.load(path), "oob_score_")


def test_loaded_model_can_be_saved_over_its_own_file(tmp_path):
    path = tmp_path / "model"
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 3
    core.save(core.TreeClassifier(random_state=0).fit(X, y), path)
    before = path.read_bytes()
    loaded = core.load(path)
    core.save(loaded, path)
    assert path.read_bytes() == before
    assert loaded.predict(X).tolist() == y.tolist()
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_failed_save_leaves_the_old_file_unchanged(tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    X, y = np.arange(6.0)[:, np.newaxis], np.arange(6) % 2
    model = core.TreeClassifier(random_state=0).fit(X, y)

    def failing_chunks(*_):
        yield b"half of it"
        raise OSError("no space left")

    monkeypatch.setattr(artifact, "_chunks", failing_chunks)
    with pytest.raises(OSError, match="no space left"):
        core.save(model, path)
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(
    ("selected", "stored"),
    [
        (pd.Index(["k"]), ["k"]),
        (pd.Series(["k"]), ["k"]),
        (range(1, 2), [1]),
        (pl.Series(["k"]), ["k"]),
        (pa.chunked_array([["k"]]), ["k"]),
        (np.array([False, True]), [False, True]),
        ([np.int64(1)], [1]),
    ],
    ids=str,
)
def test_categorical_features_are_stored_in_any_form(tmp_path, selected, stored):
    y = np.arange(60) % 3
    frame = pd.DataFrame({"a": y / 7, "k": y * 3 + 1})
    core.save(core.TreeClassifier(categorical_features=selected).fit(frame, y), tmp_path / "model")
    assert core.load(tmp_path / "model").categorical_features == stored


def test_numbers_of_numpy_among_objects_are_saved_as_numbers(tmp_path):
    y = np.array([np.int64(3), np.bool_(False)] * 10, dtype=object)
    core.save(core.TreeClassifier().fit(np.arange(20.0)[:, np.newaxis] % 2, y), tmp_path / "model")
    assert core.load(tmp_path / "model").predict([[0.0], [1.0]]).tolist() == [3, False]
