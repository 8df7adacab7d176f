"""Damaged and hostile artifact files raise an error; they never cause a crash or a read outside of an array."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import core
from core.artifact.format import MAGIC
from tests.core.artifact.artifact_files import (
    array_entry,
    arrays_in,
    assert_safe_to_walk,
    build_artifact,
    fitted_model,
    forged,
    set_in,
    signed,
    split_artifact,
    with_array,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.bristlecone"


@pytest.fixture(scope="module")
def content_path(tmp_path_factory):
    """Path of a file; Hypothesis prints its arguments and warns about large ones, such as 46 kB of bytes."""
    path = tmp_path_factory.mktemp("artifact") / "model"
    core.save(fitted_model(loss="adaptive_ne", min_samples_leaf=8), path, schema={"columns": []})
    return path


@pytest.fixture(scope="module")
def content(content_path):
    return content_path.read_bytes()


def test_unchanged_forgery_is_loadable(path, content):
    path.write_bytes(forged(content, lambda header: None))
    assert core.load(path).predict([[0.0] * 4]).shape == (1,)


@pytest.mark.parametrize(
    "change",
    [
        set_in("kind", to="os.system"),
        set_in("kind", to=["tree"]),
        set_in("format", to="1"),
        set_in("format", to=True),
        set_in("format", to=1),
        set_in("params", to={}),
        set_in("params", "max_depth", to=-1),
        set_in("params", "loss", to={"kind": "evil"}),
        set_in("loss", to=None),
        set_in("classes", "labels", to=[0, 1]),
        set_in("classes", "labels", to=[0, 0, 1, 2]),
        set_in("classes", "labels", to=[[], {}, 1, 2]),
        set_in("classes", "dtype", to="<U999999999"),
        set_in("classes", "dtype", to="(9999999,)f8"),
        set_in("classes", "dtype", to="|b1"),
        set_in("n_features", to=2),
        set_in("n_features", to=10**12),
        set_in("n_features", to=True),
        set_in("feature_names", to=["a"]),
        set_in("lambda", to="much"),
        set_in("tuning_scores", to=[[1]]),
        set_in("oob_score", to="much"),
        set_in("oob_score", to=1.5),
        set_in("tuning_scores", to=[[1, 2]]),
        set_in("classes", "labels", to=[0, 1, 2, 1e400]),
        set_in("params", "oob_score", to=1),
        lambda header: header["params"].pop("max_depth"),
        set_in("schema", to=[1]),
        set_in("arrays", to={}),
        set_in("arrays", to=[{}]),
        set_in("arrays", "feature", "dtype", to="|O"),
        set_in("arrays", "feature", "dtype", to="<i8"),
        set_in("arrays", "feature", "name", to="threshold"),
        set_in("arrays", "feature", "shape", to=[2**39]),
        set_in("arrays", "feature", "shape", to=[-1]),
        set_in("arrays", "feature", "shape", to=[0]),
        set_in("arrays", "feature", "shape", to=[2**39, 2**39]),
        set_in("arrays", "feature", "offset", to=2**39),
        set_in("arrays", "feature", "offset", to=-64),
        set_in("arrays", "feature", "offset", to=1),
        set_in("arrays", "mixed", "shape", to=[1, 1]),
        set_in("arrays", "mixed", "shape", to=[0, 5]),
        set_in("arrays", "mixed", "shape", to=[2**39, 0]),
        lambda header: array_entry(header, "mixed")["shape"].pop(),
        set_in("arrays", "tree_offsets", "dtype", to="<f8"),
        set_in("arrays", "tree_offsets", "shape", to=[1]),
        set_in("arrays", "mixed_offsets", "shape", to=[5]),
        set_in("arrays", "link", "dtype", to="<f8"),
        lambda header: header.clear(),
        lambda header: header.pop("schema"),
    ],
)
def test_forged_headers_are_refused(path, content, change):
    path.write_bytes(forged(content, change))
    with pytest.raises(core.ArtifactError):
        core.load(path)


@pytest.mark.parametrize("version", [-1, 0, 5])
def test_error_names_an_unsupported_format(path, content, version):
    path.write_bytes(forged(content, set_in("format", to=version)))
    with pytest.raises(core.UnsupportedArtifact, match=f"format version {version}") as refusal:
        core.load(path)
    assert refusal.value.code == "unsupported_artifact"


@pytest.mark.parametrize("number", [0, -2, 2**31 - 1, -(2**31), 1])
@pytest.mark.parametrize("name", ["link", "feature"])
def test_links_outside_the_tree_and_cycles_are_refused(path, content, name, number):
    path.write_bytes(with_array(content, name, lambda array: array.__setitem__(slice(2, None), number)))
    with pytest.raises(core.ArtifactError):
        core.load(path)


def test_last_node_with_children_is_refused(path, content):
    path.write_bytes(with_array(content, "feature", lambda array: array.__setitem__(-1, 0)))
    with pytest.raises(core.ArtifactError, match="child"):
        core.load(path)


def test_node_with_two_parents_is_refused(path, content):
    """If both children were the same node, its subtree would count twice on every level."""
    arrays = arrays_in(content)
    second = np.flatnonzero(arrays["feature"] != -2)[1]
    path.write_bytes(with_array(content, "link", lambda array: array.__setitem__(second, array[0])))
    with pytest.raises(core.ArtifactError, match="parent"):
        core.load(path)


def test_identical_children_are_refused(path, content):
    path.write_bytes(with_array(content, "link", lambda array: array.__setitem__(0, 1)))
    with pytest.raises(core.ArtifactError, match="child"):
        core.load(path)


def test_nodes_that_are_not_in_preorder_are_refused(path, content):
    """Every node has one earlier parent, but the subtrees are interleaved."""
    inner_nodes = np.flatnonzero(arrays_in(content)["feature"] != -2)
    first = inner_nodes[np.flatnonzero(np.diff(inner_nodes) == 1)[0]]
    swapped = slice(first, first + 2)
    path.write_bytes(with_array(content, "link", lambda array: array.__setitem__(swapped, array[swapped][::-1].copy())))
    with pytest.raises(core.ArtifactError, match="preorder"):
        core.load(path)


@pytest.mark.parametrize("shape", [(0, 5), (0, 3), (3,), (2**39, 0)], ids=str)
def test_distributions_of_wrong_shape_are_refused(path, content, shape):
    """The file is otherwise valid: its offsets cover the distributions, and it ends where the arrays end."""
    arrays = arrays_in(content)
    mixed_offsets = np.zeros_like(arrays["mixed_offsets"])
    mixed_offsets[-1] = shape[0]
    changed = {**arrays, "mixed_offsets": mixed_offsets, "mixed": np.empty(shape)}
    path.write_bytes(build_artifact(split_artifact(content)[0], changed))
    with pytest.raises(core.ArtifactError, match=r"'mixed'|distribution"):
        core.load(path)


def test_probabilities_above_1_are_refused(path, content):
    """The sum of the distribution is still 1 within its tolerance."""

    def change(array):
        array[:4] = [1 + 1e-7, 0, 0, 0]

    path.write_bytes(with_array(content, "mixed", change))
    with pytest.raises(core.ArtifactError, match="above 1"):
        core.load(path)


def test_one_long_class_name_does_not_widen_thousands(path):
    """An array of texts has the width of the longest: these classes would take 7 GiB."""
    core.save(core.TreeClassifier().fit([[1.0]], ["a"]), path)
    header, _, _ = split_artifact(path.read_bytes())
    header["classes"]["labels"] = ["x" * 2**20, *map(str, range(1800))]
    arrays = {**arrays_in(path.read_bytes()), "mixed": np.empty((0, 1801))}
    path.write_bytes(build_artifact(header, arrays))
    with pytest.raises(core.ArtifactError, match="too much memory"):
        core.load(path)


def test_errors_name_invalid_offsets(path, content):
    for name in ("tree_offsets", "mixed_offsets"):
        path.write_bytes(with_array(content, name, lambda array: array.__setitem__(-1, 0)))
        with pytest.raises(core.ArtifactError, match=name):
            core.load(path)


def test_too_many_classes_are_refused(path):
    """Each class adds a number to every row of a prediction."""
    core.save(core.TreeClassifier().fit([[1.0]], [0]), path)
    header, _, _ = split_artifact(path.read_bytes())
    for n_classes, error in [(2**16 - 1, None), (2**16, "65536 classes")]:
        header["classes"]["labels"] = list(range(n_classes))
        arrays = {**arrays_in(path.read_bytes()), "mixed": np.empty((0, n_classes))}
        forged_path = path.with_suffix(".forged")
        forged_path.write_bytes(build_artifact(header, arrays))
        if error is None:
            assert len(core.load(forged_path).classes_) == n_classes
        else:
            with pytest.raises(core.ArtifactError, match=error):
                core.load(forged_path)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("feature", 4),
        ("feature", -1),
        ("threshold", np.nan),
        ("impurity", np.inf),
        ("mixed", -0.5),
        ("mixed", np.nan),
        ("mixed", 1e300),
        ("n_node_samples", -1),
        ("missing_go_to_left", 7),
        ("weighted_n_node_samples", np.nan),
        ("weighted_n_node_samples", 0.0),
        ("tree_offsets", -1),
        ("tree_offsets", 10**15),
        ("mixed_offsets", -1),
        ("mixed_offsets", 10**15),
    ],
)
def test_invalid_numbers_are_refused(path, content, name, number):
    path.write_bytes(with_array(content, name, lambda array: array.__setitem__(0, number)))
    with pytest.raises(core.ArtifactError):
        core.load(path)


def leaf_nodes(content):
    return np.flatnonzero(arrays_in(content)["feature"] == -2)


@pytest.mark.parametrize("number", [-1, -(2**31), 2**31 - 1])
def test_leaf_links_to_missing_distributions_are_refused(path, content, number):
    for leaf in leaf_nodes(content)[[0, -1]]:
        path.write_bytes(with_array(content, "link", lambda array, position=leaf: array.__setitem__(position, number)))
        with pytest.raises(core.ArtifactError, match="distribution"):
            core.load(path)


def test_leaf_links_to_distributions_of_other_trees_are_refused(path, content):
    arrays = arrays_in(content)
    foreign_link = arrays["mixed"].shape[1] + np.diff(arrays["mixed_offsets"])[0]
    first = leaf_nodes(content)[0]
    path.write_bytes(with_array(content, "link", lambda array: array.__setitem__(first, foreign_link)))
    with pytest.raises(core.ArtifactError, match="distribution"):
        core.load(path)


@pytest.mark.parametrize("name", ["tree_offsets", "mixed_offsets"])
@pytest.mark.parametrize("number", [2**63 - 1, -(2**63)])
def test_offsets_that_overflow_are_refused(path, content, name, number):
    path.write_bytes(with_array(content, name, lambda array: array.__setitem__(2, number)))
    with pytest.raises(core.ArtifactError, match="offsets"):
        core.load(path)


@pytest.mark.parametrize(
    "text", [b"", b"PK\x03\x04", b"BRISTLE\x01", b"\x80\x04\x95" * 40, bytes(200), MAGIC + b"\xff" * 200]
)
def test_other_files_are_refused(path, text):
    path.write_bytes(text)
    with pytest.raises(core.ArtifactError) as refusal:
        core.load(path)
    assert refusal.value.code == "corrupt_artifact"
    assert str(path) not in str(refusal.value)


@settings(max_examples=150, deadline=None)
@given(position=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_single_flipped_byte_is_detected(tmp_path_factory, content_path, position, flip):
    broken = bytearray(content_path.read_bytes())
    broken[int(position * len(broken))] ^= flip
    path = tmp_path_factory.mktemp("flip") / "model"
    path.write_bytes(broken)
    with pytest.raises(core.ArtifactError):
        core.load(path)


@settings(max_examples=50, deadline=None)
@given(keep=st.floats(0, 1, exclude_max=True), sign=st.booleans())
def test_truncated_file_is_detected(tmp_path_factory, content_path, keep, sign):
    content = content_path.read_bytes()
    cut = content[: int(keep * len(content))]
    path = tmp_path_factory.mktemp("cut") / "model"
    path.write_bytes(signed(cut[:-32]) if sign else cut)
    with pytest.raises(core.ArtifactError):
        core.load(path)


@settings(max_examples=300, deadline=None)
@given(position=st.floats(0, 1, exclude_max=True), flips=st.lists(st.integers(1, 255), min_size=1, max_size=8))
def test_flipped_bytes_with_a_valid_checksum_never_crash(tmp_path_factory, content_path, position, flips):
    """Any file that still loads must be safe to traverse."""
    body = bytearray(content_path.read_bytes()[:-32])
    for i, flip in enumerate(flips):
        body[(int(position * len(body)) + i) % len(body)] ^= flip
    path = tmp_path_factory.mktemp("sign") / "model"
    path.write_bytes(signed(bytes(body)))
    try:
        model = core.load(path)
    except core.ArtifactError:
        return
    assert_safe_to_walk(model)
