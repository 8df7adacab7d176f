"""Fuzzer of model files: `python -m tests.fuzzing.artifacts --cases 10000 --seed 1`.

Each case changes a valid file of some kind of estimator: bytes, values of the header, or numbers of an array, mostly
with a valid checksum. The file must then be refused with `core.ArtifactError`, or be a model with finite probabilities
in [0, 1] that sum to 1, in bounded memory and time. A case depends on the seed and its number alone.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import core
from tests.core.artifact.artifact_files import arrays_in, build_artifact, signed, split_artifact
from tests.core.artifact.older_formats import save_as_format_1, save_as_format_2

NUMBERS = [0, -0.0, 1, -1, 2, 0.5, 1e-320, 1.0000001, 1e15, 2**31, 2**53, 2**64, -(2**63), 1e100, -1e100, 1e308, -1e308]
TEXTS = ["", "a", "NaN", "tree", "\ud800", "x" * 999]
VALUES: list[Any] = [*NUMBERS, *TEXTS, None, True, False, [], {}, [[]], [1, 2], {"kind": "gini"}]
FLOATS = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, -0.0, -1.0, 1.0, 1.0000001, 2.0**100, -(2.0**100)]
INTEGERS = [0, 1, 2, -1, -2, 3, 7, 255, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, -(2**63)]
SUM_TOLERANCE = 1e-6
#: A case that takes longer is a failure; the usual one takes milliseconds.
MOST_SECONDS = 20.0
#: Addresses that a run may use beyond those after the fits.
MOST_BYTES = 2**30


def training_table():
    """Return rows whose third feature is a category, and three classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    X[:, 2] = rng.integers(0, 5, 120)
    y = np.digitize(X[:, 0] + (X[:, 2] > 2) + 0.5 * rng.normal(size=120), [0.0, 1.0])
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


def models():
    """Return fitted estimators of all kinds by name."""
    X, y = training_table()
    matrix = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.0, 0.2, 0.8]]
    small: dict[str, Any] = {"n_estimators": 4, "random_state": 0}
    made: dict[str, Any]
    made = {
        "tree": core.TreeClassifier(loss={"kind": "gce", "q": 0.7}, min_samples_leaf=3, random_state=0),
        "forest": core.ForestClassifier(**small, min_samples_leaf=4, categorical_features=[2]),
        "adaptive": core.ForestClassifier(**small, loss="adaptive_ne"),
        "forward": core.ForestClassifier(
            **small, min_samples_leaf=4, correction={"kind": "forward", "transition": matrix}
        ),
        "extra_trees": core.ExtraTreesClassifier(**small, max_leaf_nodes=6),
    }
    fitted: dict[str, Any] = {name: model.fit(X, y) for name, model in made.items()}
    estimators: dict[str, Any] = core.ESTIMATORS
    for kind in (kind for kind in core.ESTIMATORS if "boost" in kind):
        for n_classes in (2, 3):
            labels = np.array(["no", "yes", "maybe"])[np.minimum(y, n_classes - 1)]
            fitted[f"{kind} {n_classes}"] = estimators[kind](n_rounds=3, random_state=0).fit(X, labels)
    return fitted


def model_files(folder):
    """Return the contents of valid files of all kinds and formats."""
    path, fitted = folder / "model", models()
    contents = []
    for model in fitted.values():
        core.save(model, path, schema={"columns": ["a"]})
        contents.append(path.read_bytes())
    for save, name in ((save_as_format_1, "tree"), (save_as_format_2, "extra_trees"), (save_as_format_2, "adaboost 3")):
        save(fitted[name], path)
        contents.append(path.read_bytes())
    return contents


def with_changed_bytes(content, rng):
    body = bytearray(content[:-32])
    first = int(rng.integers(len(body)))
    for place in range(first, min(first + int(rng.integers(1, 9)), len(body))):
        body[place] = rng.integers(256)
    return signed(bytes(body)) if rng.random() < 0.9 else bytes(body) + content[-32:]


def with_changed_length(content, rng):
    cut = content[: int(rng.integers(len(content)))] + bytes(rng.integers(256, size=int(rng.integers(200)), dtype="u1"))
    return signed(cut) if rng.random() < 0.9 else cut


def with_changed_header(content, rng):
    header, _, _ = split_artifact(content)
    for _ in range(int(rng.integers(1, 3))):
        change_somewhere(header, rng)
    header.pop("arrays", None)
    return build_artifact(header, arrays_in(content))


def change_somewhere(tree, rng):
    """Replace, remove or repeat one entry, at any depth of a JSON value."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = keys[int(rng.integers(len(keys)))]
        if isinstance(tree[key], dict | list) and tree[key] and rng.random() < 0.8:
            tree = tree[key]
            continue
        what = rng.random()
        if what < 0.1:
            del tree[key]
        elif what < 0.2 and isinstance(tree, list):
            tree.insert(key, tree[key])
        else:
            tree[key] = VALUES[int(rng.integers(len(VALUES)))]
        return


def with_changed_array(content, rng):
    header, _, _ = split_artifact(content)
    arrays = {name: array.copy() for name, array in arrays_in(content).items()}
    filled = [name for name, array in arrays.items() if array.size]
    array = arrays[filled[int(rng.integers(len(filled)))]].reshape(-1)
    which = slice(None) if rng.random() < 0.2 else rng.integers(array.size, size=int(rng.integers(1, 4)))
    if array.dtype.kind == "f":
        array[which] = array[which] * 1e300 if rng.random() < 0.1 else FLOATS[int(rng.integers(len(FLOATS)))]
    else:
        limits, number = np.iinfo(array.dtype), INTEGERS[int(rng.integers(len(INTEGERS)))]
        array[which] = min(max(number, limits.min), limits.max)
    return build_artifact({name: value for name, value in header.items() if name != "arrays"}, arrays)


def with_extreme_weights(content, rng):
    """Change the numbers that scores and probabilities are made of, which are in the header."""
    header, _, _ = split_artifact(content)
    numbers = (header.get("boosted") or {}).get("weights") or (header.get("correction") or {}).get("labels")
    if not numbers:
        return with_changed_array(content, rng)
    numbers = numbers[int(rng.integers(len(numbers)))] if isinstance(numbers[0], list) else numbers
    for _ in range(int(rng.integers(1, 4))):
        numbers[int(rng.integers(len(numbers)))] = NUMBERS[int(rng.integers(len(NUMBERS)))]
    return build_artifact({name: value for name, value in header.items() if name != "arrays"}, arrays_in(content))


CHANGES = (with_changed_bytes, with_changed_length, with_changed_header, with_changed_array, with_extreme_weights)


def changed_file(contents, seed, number):
    """Return the file of a case."""
    rng = np.random.default_rng([seed, number])
    content = contents[int(rng.integers(len(contents)))]
    return CHANGES[int(rng.integers(len(CHANGES)))](content, rng)


def rows_for(model):
    """Return rows to predict, with missing and extreme values; few if there are many features."""
    n_rows = max(1, min(40, 2**20 // model.n_features_in_))
    X = np.random.default_rng(0).normal(size=(n_rows, model.n_features_in_)) * 3
    X[0] = np.nan
    X[-1] = 1e300
    return X


def outcome(path):
    """Load a file and predict; return "refused" or "loaded". Raises AssertionError for a model that predicts nonsense,
    and whatever else `load` and the predictions raise.
    """
    try:
        model = core.load(path)
    except core.ArtifactError:
        return "refused"
    X = rows_for(model)
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (len(X), len(model.classes_))
    assert np.isfinite(probabilities).all(), "a probability is not finite"
    assert ((probabilities >= 0) & (probabilities <= 1)).all(), "a probability is not in [0, 1]"
    assert (abs(probabilities.sum(axis=1) - 1) <= SUM_TOLERANCE).all(), "probabilities do not sum to 1"
    assert len(model.predict(X)) == len(X)
    return "loaded"


def run(cases, seed, folder, first=0):
    """Return the number of cases by outcome; the files of failures stay in `folder`."""
    contents, outcomes = model_files(folder), Counter[str]()
    for content in contents:  # compiles the kernels of predictions, which takes more memory than any case
        (folder / "model").write_bytes(content)
        assert outcome(folder / "model") == "loaded"
    limit_memory()
    slowest = 0.0
    for number in range(first, first + cases):
        path = folder / f"case-{seed}-{number}"
        path.write_bytes(changed_file(contents, seed, number))
        started = time.monotonic()
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = outcome(path)
            seconds = time.monotonic() - started
            assert seconds < MOST_SECONDS, f"the case took {seconds:.1f} s"
        except Exception as error:
            result = "failed"
            print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
        else:
            slowest = max(slowest, seconds)
            path.unlink()
        outcomes[result] += 1
    print(f"slowest case: {slowest:.2f} s")
    return outcomes


def limit_memory():
    """Let allocations beyond `MOST_BYTES` fail, so that they count as failures."""
    if sys.platform != "linux":
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST_BYTES, hard))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case, to repeat a failure")
    arguments = parser.parse_args()
    outcomes = run(arguments.cases, arguments.seed, Path(tempfile.mkdtemp(prefix="fuzzed-artifacts-")), arguments.first)
    print(json.dumps(outcomes))
    sys.exit(1 if outcomes["failed"] else 0)


if __name__ == "__main__":
    main()
