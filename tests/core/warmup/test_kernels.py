"""Warm-up of kernels: later calls compile nothing, and the estimator is unchanged."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import core
from core import service_api

pytestmark = pytest.mark.slow

#: Process that forks for each case that it reads, so that each begins without compiled kernels and imports nothing.
_PROGRAM = """
import importlib, json, os, pkgutil, sys
import numpy as np
import sklearn.metrics
import core, core.kernels
from core import service_api

names = [m.name for m in pkgutil.walk_packages(core.kernels.__path__, prefix="core.kernels.")]
modules = [importlib.import_module(name) for name in names]
values = [getattr(value, "kernel", value) for module in modules for value in vars(module).values()]
kernels = [value for value in values if hasattr(value, "py_func")]
assert kernels

def signatures():
    return {(kernel.py_func.__module__, kernel.py_func.__name__, s) for kernel in kernels for s in kernel.signatures}

rng = np.random.default_rng(0)
X = np.where(rng.random((900, 5)) < 0.1, np.nan, rng.normal(size=(900, 5)))
y = rng.integers(3, size=900)

assert not signatures()
for line in sys.stdin:
    warm_up, work = json.loads(line)
    if os.fork() == 0:
        exec(warm_up)
        before = signatures()
        exec(work)
        print(sorted(map(str, signatures() - before)), flush=True)
        os._exit(0)
    if os.wait()[1]:
        print("failed", flush=True)
"""


@pytest.fixture(scope="module")
def process() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _PROGRAM]
    with subprocess.Popen(command, env=os.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


@pytest.fixture
def newly_compiled(process):
    """Return a function that returns the kernel signatures that `work` compiles after `warm_up`."""

    def compiled(warm_up: str, work: str) -> str:
        process.stdin.write(json.dumps([warm_up, work]) + "\n")
        process.stdin.flush()
        signatures = process.stdout.readline().strip()
        assert signatures.startswith("["), "see standard error"
        return signatures

    return compiled


def test_loaded_model_predicts_without_compiling_after_warm_up(newly_compiled, tmp_path):
    path = str(tmp_path / "model")
    X = [[0.0, 1.0], [1.0, 0.5], [2.0, 3.0]]
    core.save(core.ForestClassifier(n_estimators=3, random_state=0).fit(X, [0, 1, 2]), path)
    work = f"model = core.load({path!r})\nfor width in 'fd': model.predict_proba(X[:, :2].astype(width))"
    assert newly_compiled("service_api.warm_up_predictions()", work) == "[]"
    if "NUMBA_DISABLE_JIT" not in os.environ:
        assert newly_compiled("", work) != "[]"


def test_loaded_regression_predicts_without_compiling_after_warm_up(newly_compiled, tmp_path):
    path = str(tmp_path / "model")
    X = np.random.default_rng(0).normal(size=(120, 2))
    model = core.AutoClassifier(random_state=0, n_fits=2).fit(X, (X.sum(axis=1) > 0).astype(int))
    assert model.kernel_ridge_ is not None
    core.save(model, path)
    work = f"model = core.load({path!r})\nfor width in 'fd': model.predict_proba(X[:, :2].astype(width))"
    assert newly_compiled("service_api.warm_up_predictions()", work) == "[]"


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
        "core.TreeClassifier(categorical_features=[False] * 5)",
        "core.AutoClassifier(random_state=0)",
    ],
)
def test_fit_compiles_nothing_after_warm_up(newly_compiled, estimator):
    assert (
        newly_compiled(f"service_api.warm_up_fit({estimator})", f"core.evaluate({estimator}.fit(X, y), X, y)") == "[]"
    )


def test_a_fit_with_few_categories_compiles_nothing_after_their_warm_up(newly_compiled):
    estimator = "core.ForestClassifier(categorical_features=[0])"
    work = f"core.evaluate({estimator}.fit(few, y), few, y)"
    few = "few = np.column_stack([np.r_[np.nan, np.arange(899) % 30], X])"
    assert newly_compiled(f"{few}; service_api.warm_up_fit({estimator})", work) == "[]"
    if "NUMBA_DISABLE_JIT" not in os.environ:
        assert newly_compiled(f"{few}; service_api.warm_up_fit(core.ForestClassifier(), n_categories=0)", work) != "[]"


def test_a_fit_with_many_categories_compiles_nothing_after_their_warm_up(newly_compiled):
    estimator = "core.TreeClassifier(categorical_features=[0])"
    many = "np.column_stack([np.r_[np.nan, np.arange(899) % 300], X])"
    work = f"{estimator}.fit({many}, y)"
    assert newly_compiled(f"service_api.warm_up_fit({estimator}, n_categories=300)", work) == "[]"
    if "NUMBA_DISABLE_JIT" not in os.environ:
        assert newly_compiled(f"service_api.warm_up_fit({estimator})", work) != "[]"


def test_linear_programs_can_be_compiled_before_the_rest_of_minimax_boosting(newly_compiled):
    work = "service_api.warm_up_fit(core.RMBoostClassifier())"
    left = newly_compiled("from core.warmup.kernels import warm_up_linear_programs; warm_up_linear_programs()", work)
    assert "simplex" not in left
    assert "combine_rules" not in left
    if "NUMBA_DISABLE_JIT" not in os.environ:
        assert "primal_simplex" in newly_compiled("", work)


def test_the_ranking_of_categories_is_compiled_apart_from_growth(newly_compiled):
    work = "service_api.warm_up_fit(core.TreeClassifier(), 2)"
    left = newly_compiled("from core.warmup.kernels import warm_up_category_ranking; warm_up_category_ranking()", work)
    assert "rank" not in left
    if "NUMBA_DISABLE_JIT" not in os.environ:
        assert "_rank_categories" in newly_compiled("", work)


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")
def test_random_cuts_are_compiled_apart_from_best_cuts(newly_compiled):
    trees = [f"service_api.warm_up_fit(core.{kind}())" for kind in ("TreeClassifier", "ExtraTreesClassifier")]
    assert "grow_depth_first" in newly_compiled(*trees)
    assert "grow_depth_first" in newly_compiled(*reversed(trees))


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")
def test_all_values_of_lambda_share_one_compilation(newly_compiled):
    warm_up = "service_api.warm_up_fit(core.TreeClassifier(loss='ne'))"
    assert newly_compiled(warm_up, "service_api.warm_up_fit(core.TreeClassifier(loss='sqrt_gini'))") == "[]"


def test_steps_of_compilation_name_the_losses_of_all_fits():
    corrected = core.ForestClassifier(loss="ne", correction={"kind": "forward", "transition": "estimate"})
    assert service_api.compilation_steps([corrected, core.ForestClassifier()]) == [
        "binning",
        "tree growth with gini",
        "tree growth with ne",
        "predictions",
    ]
    boosted = service_api.compilation_steps([core.RMBoostClassifier()])
    assert boosted == ["binning", "tree growth with gini", "linear programs", "predictions"]


def test_warm_up_does_not_change_the_estimator():
    estimator = core.ForestClassifier(loss="ranking", class_weight={"a": 2.0}, oob_score=True)
    before = estimator.get_params()
    service_api.warm_up_fit(estimator)
    assert estimator.get_params() == before
    assert not hasattr(estimator, "trees_")
