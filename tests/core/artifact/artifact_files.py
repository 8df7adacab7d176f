"""Fitted estimators to save, and files whose headers or arrays were changed while the checksum stays right."""

import hashlib
import json

import numpy as np

import core
from core.artifact.format import MAGIC


def data(n_rows=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.nan_to_num(X).argmax(axis=1)


def fitted(kind="forest", **parameters):
    X, y = data()
    y = y % 2 if parameters.get("loss") == "ranking" else y
    small = {"n_estimators": 5} if kind != "tree" else {}
    return core.ESTIMATORS[kind](**{"random_state": 0, **small, **parameters}).fit(X, y)


def parts(content):
    length = int.from_bytes(content[8:16], "little")
    return json.loads(content[16 : 16 + length]), content[16 + length : -32], length


def forged(content, change):
    """Return the file with its header changed by `change`, the arrays in place, and a valid checksum."""
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


def laid_out(header, arrays):
    """Return a complete file of these arrays with this header, to which their offsets are added."""
    header_length = 2**12 - 16 + len(json.dumps(header))
    header_length += -(header_length + 16) % 64
    listed, body = [], b""
    for name, array in arrays.items():
        place = {
            "name": name,
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "offset": 16 + header_length + len(body),
        }
        listed.append(place)
        body += array.tobytes()
        body += bytes(-len(body) % 64)
    text = json.dumps({**header, "arrays": listed}).encode().ljust(header_length)
    return signed(MAGIC + header_length.to_bytes(8, "little") + text + body)


def array_entry(header, name):
    return next(entry for entry in header["arrays"] if entry["name"] == name)


def set_in(*keys, to):
    def change(header):
        target = header
        for key in keys[:-1]:
            target = array_entry(header, key) if target is header.get("arrays") else target[key]
        target[keys[-1]] = to

    return change


def arrays_in(content):
    """Return the arrays of a file by name, read according to its header and without this library."""
    header, _, _ = parts(content)
    return {
        entry["name"]: np.frombuffer(
            content, dtype=entry["dtype"], count=int(np.prod(entry["shape"])), offset=entry["offset"]
        ).reshape(entry["shape"])
        for entry in header["arrays"]
    }


def with_array(content, name, change):
    header, _, _ = parts(content)
    entry = array_entry(header, name)
    body = bytearray(content[:-32])
    array = np.frombuffer(body, dtype=entry["dtype"], count=int(np.prod(entry["shape"])), offset=entry["offset"])
    change(array)
    return signed(bytes(body))


def assert_safe_to_walk(model):
    """Ask a model of `data` everything that walks its trees."""
    X = np.vstack([data()[0], np.full((1, 4), np.nan)])
    assert np.isfinite(model.predict_proba(X)).all()
    for tree in [estimator.tree_ for estimator in getattr(model, "estimators_", [model])]:
        assert (tree.feature[tree.apply(X)] == -2).all()
        assert tree.max_depth < tree.node_count == len(tree.value)
        assert max(tree.children_left.max(), tree.children_right.max()) < tree.node_count
    with np.errstate(all="ignore"):  # impurities and weights may be any numbers
        assert model.feature_importances_.shape == (4,)
