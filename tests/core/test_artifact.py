"""The artefact file: round trips, reproducible bytes, and files that were damaged or made to harm."""

import hashlib
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import core
from core.artifact import MAGIC


def data(n_rows=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.nan_to_num(X).argmax(axis=1)


def fitted(kind="forest", **parameters):
    X, y = data()
    y = y % 2 if parameters.get("loss") == "ranking" else y
    small = {"n_estimators": 5} if kind == "forest" else {}
    return core.ESTIMATORS[kind](random_state=0, **small, **parameters).fit(X, y)


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
    model = fitted(kind, **parameters)
    core.save(model, path, schema={"columns": ["a", "b"]})
    loaded = core.load(path)
    X, _ = data(seed=1)
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
    X, y = data()
    named = np.empty(len(y), dtype=object)
    named[:] = [labels[k] for k in y]
    plain = len({type(k) for k in labels}) == 1 and not isinstance(labels[0], float)
    for given_labels in [named, named.tolist()] if plain else [named]:
        model = core.TreeClassifier().fit(X, given_labels)
        core.save(model, path)
        restored = core.load(path).classes_
        assert restored.tolist() == model.classes_.tolist()
        assert [type(k) for k in restored.tolist()] == [type(k) for k in model.classes_.tolist()]


def test_bytes_depend_on_data_parameters_and_seed_only(path):
    X, y = data()
    written = []
    for n_jobs in [1, 2]:
        core.save(core.ForestClassifier(n_estimators=5, random_state=0, n_jobs=n_jobs).fit(X, y), path)
        written.append(path.read_bytes())
    core.save(core.load(path), path.with_suffix(".again"))
    assert written[0] == written[1] == path.with_suffix(".again").read_bytes()
    core.save(core.ForestClassifier(n_estimators=5, random_state=1).fit(X, y), path)
    assert path.read_bytes() != written[0]


def test_arrays_are_mapped_and_aligned(path):
    core.save(fitted(), path)
    nodes = core.load(path).trees_.nodes
    assert all(not array.flags.owndata and array.ctypes.data % 64 == 0 for array in nodes)


def test_an_unfitted_estimator_cannot_be_saved(path):
    with pytest.raises(AttributeError, match=r"trees_|loss_"):
        core.save(core.TreeClassifier(), path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("name", "number"),
    [("impurity", np.inf), ("threshold", np.nan), ("weighted_n_node_samples", np.inf), ("value", 2.0)],
)
def test_nothing_is_written_that_could_not_be_read(path, name, number):
    model = fitted()
    getattr(model.trees_.nodes, name)[0] = number
    with pytest.raises(core.ArtifactError):
        core.save(model, path)
    assert not path.exists()


@pytest.mark.parametrize(
    "schema", [{"mean": float("nan")}, {"values": {1, 2}}, {"text": "x" * 2**25}], ids=["nan", "set", "long"]
)
def test_a_schema_that_could_not_be_read_is_refused(path, schema):
    with pytest.raises(core.ArtifactError):
        core.save(fitted(), path, schema=schema)
    assert not path.exists()


def test_a_feature_name_is_kept(path):
    model = fitted("tree")
    model.feature_names_in_ = np.array(list("abcd"), dtype=object)
    core.save(model, path)
    assert core.load(path).feature_names_in_.tolist() == list("abcd")


def parts(content):
    length = int.from_bytes(content[8:16], "little")
    return json.loads(content[16 : 16 + length]), content[16 + length : -32], length


def forged(content, change):
    """The file with its header changed by `change`, arrays where they were, and a right checksum."""
    header, arrays, length = parts(content)
    change(header)
    text = json.dumps(header).encode()
    grown = max(length, len(text) + -(len(text) + 16) % 64)
    for entry in header["arrays"] if isinstance(header.get("arrays"), list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("offset"), int):
            entry["offset"] += grown - length
    text = json.dumps(header).encode().ljust(grown)
    return signed(MAGIC + len(text).to_bytes(8, "little") + text + arrays)


def signed(body):
    return body + hashlib.sha256(body).digest()


@pytest.fixture(scope="module")
def content_path(tmp_path_factory):
    """A path, because Hypothesis prints its arguments and warns of 46 kB ones."""
    path = tmp_path_factory.mktemp("artifact") / "model"
    core.save(fitted(loss="adaptive_ne"), path, schema={"columns": []})
    return path


@pytest.fixture(scope="module")
def content(content_path):
    return content_path.read_bytes()


def array_entry(header, name):
    return next(entry for entry in header["arrays"] if entry["name"] == name)


def set_in(*keys, to):
    def change(header):
        target = header
        for key in keys[:-1]:
            target = array_entry(header, key) if target is header.get("arrays") else target[key]
        target[keys[-1]] = to

    return change


def test_forging_nothing_changes_nothing(path, content):
    path.write_bytes(forged(content, lambda header: None))
    assert core.load(path).predict([[0.0] * 4]).shape == (1,)


@pytest.mark.parametrize(
    "change",
    [
        set_in("kind", to="os.system"),
        set_in("kind", to=["tree"]),
        set_in("format", to="1"),
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
        set_in("arrays", "value", "shape", to=[1, 1]),
        set_in("arrays", "tree_offsets", "shape", to=[1]),
        lambda header: header.clear(),
        lambda header: header.pop("schema"),
    ],
)
def test_a_forged_header_is_refused(path, content, change):
    path.write_bytes(forged(content, change))
    with pytest.raises(core.ArtifactError):
        core.load(path)


def test_a_later_format_is_named(path, content):
    path.write_bytes(forged(content, set_in("format", to=2)))
    with pytest.raises(core.UnsupportedArtifact, match="format version 2") as caught:
        core.load(path)
    assert caught.value.code == "unsupported_artifact"


def with_array(content, name, change):
    header, _, _ = parts(content)
    entry = array_entry(header, name)
    body = bytearray(content[:-32])
    array = np.frombuffer(body, dtype=entry["dtype"], count=int(np.prod(entry["shape"])), offset=entry["offset"])
    change(array)
    return signed(bytes(body))


@pytest.mark.parametrize("number", [0, -2, 2**31 - 1, -(2**31), 1])
@pytest.mark.parametrize("name", ["children_left", "children_right"])
def test_a_walk_cannot_leave_the_tree_or_go_in_circles(path, content, name, number):
    path.write_bytes(with_array(content, name, lambda array: array.__setitem__(slice(2, None), number)))
    with pytest.raises(core.ArtifactError):
        core.load(path)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("feature", 4),
        ("feature", -1),
        ("threshold", np.nan),
        ("impurity", np.inf),
        ("value", -0.5),
        ("value", np.nan),
        ("value", 1e300),
        ("missing_go_to_left", 7),
        ("weighted_n_node_samples", np.nan),
        ("tree_offsets", -1),
        ("tree_offsets", 10**15),
    ],
)
def test_numbers_that_no_tree_holds_are_refused(path, content, name, number):
    path.write_bytes(with_array(content, name, lambda array: array.__setitem__(0, number)))
    with pytest.raises(core.ArtifactError):
        core.load(path)


@pytest.mark.parametrize(
    "text", [b"", b"PK\x03\x04", b"BRISTLE\x01", b"\x80\x04\x95" * 40, bytes(200), MAGIC + b"\xff" * 200]
)
def test_other_files_are_refused(path, text):
    path.write_bytes(text)
    with pytest.raises(core.ArtifactError) as caught:
        core.load(path)
    assert caught.value.code == "corrupt_artifact"
    assert str(path) not in str(caught.value)


@settings(max_examples=150, deadline=None)
@given(at=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_one_flipped_byte_is_noticed(tmp_path_factory, content_path, at, flip):
    broken = bytearray(content_path.read_bytes())
    broken[int(at * len(broken))] ^= flip
    path = tmp_path_factory.mktemp("flip") / "model"
    path.write_bytes(broken)
    with pytest.raises(core.ArtifactError):
        core.load(path)


@settings(max_examples=50, deadline=None)
@given(keep=st.floats(0, 1, exclude_max=True), sign=st.booleans())
def test_a_truncated_file_is_noticed(tmp_path_factory, content_path, keep, sign):
    content = content_path.read_bytes()
    cut = content[: int(keep * len(content))]
    path = tmp_path_factory.mktemp("cut") / "model"
    path.write_bytes(signed(cut[:-32]) if sign else cut)
    with pytest.raises(core.ArtifactError):
        core.load(path)


@settings(max_examples=300, deadline=None)
@given(at=st.floats(0, 1, exclude_max=True), flips=st.lists(st.integers(1, 255), min_size=1, max_size=8))
def test_bytes_flipped_under_a_right_checksum_never_crash(tmp_path_factory, content_path, at, flips):
    """Whatever still loads must be safe to walk."""
    body = bytearray(content_path.read_bytes()[:-32])
    for i, flip in enumerate(flips):
        body[(int(at * len(body)) + i) % len(body)] ^= flip
    path = tmp_path_factory.mktemp("sign") / "model"
    path.write_bytes(signed(bytes(body)))
    try:
        model = core.load(path)
    except core.ArtifactError:
        return
    probabilities = model.predict_proba(np.vstack([data()[0], np.full((1, 4), np.nan)]))
    assert np.isfinite(probabilities).all()
