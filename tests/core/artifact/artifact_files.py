"""Fitted estimators to save, and artifact files with changed headers or arrays but valid checksums."""

import hashlib
import json

import numpy as np

import core
from core.artifact.format import MAGIC


def training_rows(n_rows=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.nan_to_num(X).argmax(axis=1)


def fitted_model(kind="forest", **parameters):
    X, y = training_rows()
    y = y % 2 if parameters.get("loss") == "ranking" else y
    small = {"n_estimators": 5} if kind != "tree" else {}
    return core.ESTIMATORS[kind](**{"random_state": 0, **small, **parameters}).fit(X, y)


def split_artifact(content):
    """Return the header, the bytes of the arrays, and the length of the header."""
    length = int.from_bytes(content[8:16], "little")
    return json.loads(content[16 : 16 + length]), content[16 + length : -32], length


def forged(content, change):
    """Return the file with its header changed by `change`, the arrays in place, and a valid checksum."""
    header, arrays, length = split_artifact(content)
    change(header)
    text = json.dumps(header).encode()
    new_length = max(length, len(text) + -(len(text) + 16) % 64)
    for entry in header["arrays"] if isinstance(header.get("arrays"), list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("offset"), int):
            entry["offset"] += new_length - length
    text = json.dumps(header).encode().ljust(new_length)
    return signed(MAGIC + len(text).to_bytes(8, "little") + text + arrays)


def signed(body):
    """Return the body followed by its checksum."""
    return body + hashlib.sha256(body).digest()


def build_artifact(header, arrays):
    """Return a complete file of these arrays with this header, to which their offsets are added."""
    header_length = 2**12 - 16 + len(json.dumps(header))
    header_length += -(header_length + 16) % 64
    entries, body = [], b""
    for name, array in arrays.items():
        entry = {
            "name": name,
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "offset": 16 + header_length + len(body),
        }
        entries.append(entry)
        body += array.tobytes()
        body += bytes(-len(body) % 64)
    text = json.dumps({**header, "arrays": entries}).encode().ljust(header_length)
    return signed(MAGIC + header_length.to_bytes(8, "little") + text + body)


def array_entry(header, name):
    return next(entry for entry in header["arrays"] if entry["name"] == name)


def set_in(*keys, to):
    """Return a function that sets the header entry under `keys` to the value `to`."""

    def change(header):
        target = header
        for key in keys[:-1]:
            target = array_entry(header, key) if target is header.get("arrays") else target[key]
        target[keys[-1]] = to

    return change


def arrays_in(content):
    """Return the arrays of a file by name, read according to its header and without this library."""
    header, _, _ = split_artifact(content)
    return {
        entry["name"]: np.frombuffer(
            content, dtype=entry["dtype"], count=int(np.prod(entry["shape"])), offset=entry["offset"]
        ).reshape(entry["shape"])
        for entry in header["arrays"]
    }


def with_array(content, name, change):
    """Return the file with one array changed by `change`, and a valid checksum."""
    header, _, _ = split_artifact(content)
    entry = array_entry(header, name)
    body = bytearray(content[:-32])
    array = np.frombuffer(body, dtype=entry["dtype"], count=int(np.prod(entry["shape"])), offset=entry["offset"])
    change(array)
    return signed(bytes(body))


def assert_safe_to_walk(model):
    """Call everything that traverses the trees of a model of `training_rows`."""
    X = np.vstack([training_rows()[0], np.full((1, 4), np.nan)])
    assert np.isfinite(model.predict_proba(X)).all()
    for tree in [estimator.tree_ for estimator in getattr(model, "estimators_", [model])]:
        assert (tree.feature[tree.apply(X)] == -2).all()
        assert tree.max_depth < tree.node_count == len(tree.value)
        assert max(tree.children_left.max(), tree.children_right.max()) < tree.node_count
    with np.errstate(all="ignore"):  # impurities and weights may be any numbers
        assert model.feature_importances_.shape == (4,)
