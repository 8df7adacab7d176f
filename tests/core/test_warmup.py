"""What warming up promises: nothing is left to compile, and the estimator is left alone."""

import os
import subprocess
import sys

import pytest

import core
from core import service_api

_COUNT = """
import importlib, json, pkgutil, sys
import numpy as np
import core, core.kernels
from core import service_api

def signatures():
    names = [m.name for m in pkgutil.walk_packages(core.kernels.__path__, prefix="core.kernels.")]
    modules = [importlib.import_module(name) for name in names]
    kernels = [value for module in modules for value in vars(module).values() if hasattr(value, "signatures")]
    assert kernels
    return {(kernel.py_func.__module__, kernel.py_func.__name__, s) for kernel in kernels for s in kernel.signatures}

rng = np.random.default_rng(0)
X = np.where(rng.random((900, 5)) < 0.1, np.nan, rng.normal(size=(900, 5)))
y = rng.integers(3, size=900)
"""


def left_to_compile(warm_up: str, work: str) -> str:
    """Kernels and types that `work` meets for the first time after `warm_up`, in a new process."""
    program = f"{_COUNT}\n{warm_up}\nbefore = signatures()\n{work}\nprint(sorted(map(str, signatures() - before)))"
    run = subprocess.run([sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, check=True)
    return run.stdout.strip()


def test_a_model_from_a_file_predicts_with_warm_kernels(tmp_path):
    path = str(tmp_path / "model")
    X = [[0.0, 1.0], [1.0, 0.5], [2.0, 3.0]]
    core.save(core.ForestClassifier(n_estimators=3, random_state=0).fit(X, [0, 1, 2]), path)
    work = f"model = core.load({path!r})\nfor width in 'fd': model.predict_proba(X[:, :2].astype(width))"
    assert left_to_compile("service_api.warm_up_predictions()", work) == "[]"
    if "NUMBA_DISABLE_JIT" not in os.environ:
        assert left_to_compile("", work) != "[]"


@pytest.mark.parametrize(
    "estimator",
    [
        "core.ForestClassifier()",
        "core.ForestClassifier(loss='adaptive_ne', n_estimators=5, oob_score=True)",
        "core.ExtraTreesClassifier(max_leaf_nodes=9, class_weight={0: 1.0, 1: 2.0, 2: 0.5}, max_features=5)",
        "core.TreeClassifier(max_bins=None)",
        "core.ExtraTreesClassifier(correction={'kind': 'backward', 'transition': np.eye(3) * 0.7 + 0.1})",
        "core.TreeClassifier(max_leaf_nodes=9, correction={'kind': 'forward', 'transition': 'estimate'})",
        "core.RMBoostClassifier(n_rounds=5)",
    ],
)
def test_a_fit_meets_warm_kernels(estimator):
    assert (
        left_to_compile(f"service_api.warm_up_fit({estimator})", f"core.evaluate({estimator}.fit(X, y), X, y)") == "[]"
    )


def test_an_estimator_stays_as_it_was():
    estimator = core.ForestClassifier(loss="ranking", class_weight={"a": 2.0}, oob_score=True)
    before = estimator.get_params()
    service_api.warm_up_fit(estimator)
    assert estimator.get_params() == before
    assert not hasattr(estimator, "trees_")
