"""Growth of one tree by several threads."""

import threading

import numpy as np
import pytest

import core
from core.growth.tree_growth import TreeGrowth
from core.monitoring import NullMonitor
from tests.core.growth.grown_trees import node_bytes

N_ROWS = 10_000  # several times the rows of the largest subtree that one thread grows


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 5))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(scale=0.5, size=N_ROWS), [-1, 0.5])
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 4] = np.where(X[:, 0] > 0, 3, rng.integers(0, 12, size=N_ROWS))  # constant in half of the tree
    return X, y, rng.uniform(0.1, 3, size=N_ROWS)


@pytest.fixture
def subtrees(monkeypatch):
    """Return the list of the threads that have grown subtrees."""
    calls, original = [], TreeGrowth.grow_subtree

    def recording(*arguments):
        calls.append(threading.get_ident())
        return original(*arguments)

    monkeypatch.setattr(TreeGrowth, "grow_subtree", recording)
    return calls


DIVIDED = [
    {},
    {"loss": "entropy", "min_samples_leaf": 3},
    {"loss": "misclassification"},
    {"loss": "gce", "max_depth": 7},
    {"min_risk_decrease": 1e-4},
    {"max_bins": None},
    {"categorical_features": [4]},
    {"class_weight": "balanced", "loss": "twoing"},
    {"correction": {"kind": "backward", "transition": [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]}},
    {"splitter": "best", "max_features": 1.0},
]


@pytest.mark.parametrize("parameters", DIVIDED, ids=repr)
def test_several_threads_grow_the_same_bytes(rows, subtrees, parameters):
    one, *others = (core.TreeClassifier(n_jobs=n, random_state=1, **parameters).fit(*rows) for n in (1, 2, 3))
    assert len(subtrees) >= 3
    assert [node_bytes(other) for other in others] == [node_bytes(one)] * 2


def test_equally_good_splits_are_the_same_for_any_number_of_threads():
    """Gains that differ by little more than rounding are decided by the order of the search."""
    rng = np.random.default_rng(0)
    half, x = N_ROWS // 2, rng.integers(0, 2, N_ROWS).astype(float)
    y = np.where(rng.random(N_ROWS) < 0.2, 1 - x, x).astype(int)
    y[:half] = np.where(rng.random(half) < 0.97, 2, y[:half])
    constant_on_the_left = np.concatenate([np.zeros(half), rng.integers(1, 3, N_ROWS - half)])
    first, second = [row for row in range(half, N_ROWS) if x[row] == 1 and y[row] == 1][:2]
    X, weights = np.column_stack([x, x, x, constant_on_the_left]), np.ones(N_ROWS)
    X[[first, second], 0], X[first, 1], weights[[first, second]] = 0, 0, 2.9e-9
    one, two = (core.TreeClassifier(n_jobs=n, max_depth=3).fit(X, y, weights) for n in (1, 2))
    assert node_bytes(one) == node_bytes(two)


def test_each_tree_of_a_tuned_loss_is_grown_by_several_threads(rows, subtrees):
    one, two = (core.TreeClassifier(loss="adaptive_ne", n_jobs=n, random_state=1).fit(*rows) for n in (1, 2))
    assert set(subtrees) > {threading.get_ident()}
    assert node_bytes(one) == node_bytes(two)
    assert one.tuning_scores_ == two.tuning_scores_


@pytest.mark.parametrize("parameters", [{"max_features": 2}, {"splitter": "random"}, {"max_leaf_nodes": 50}], ids=repr)
def test_trees_that_depend_on_the_order_of_growth_are_not_divided(rows, subtrees, parameters):
    one, two = (core.TreeClassifier(n_jobs=n, random_state=1, **parameters).fit(*rows) for n in (1, 2))
    assert not subtrees
    assert node_bytes(one) == node_bytes(two)


def test_few_rows_are_not_divided(rows, subtrees):
    core.TreeClassifier(n_jobs=2).fit(*(column[:2000] for column in rows))
    assert not subtrees


def test_small_nodes_are_not_deferred(subtrees):
    """Alternating labels split off a few rows at a time."""
    X = np.arange(N_ROWS, dtype=float)[:, np.newaxis]
    core.TreeClassifier(n_jobs=2, max_bins=None).fit(X, np.arange(N_ROWS) % 2)
    assert len(subtrees) <= N_ROWS / 1024


class _StopsInGrowth(NullMonitor):
    def begin(self, phase, total, unit):
        self.stop_flag[0] = phase == "growing"


def test_a_fit_that_is_stopped_in_its_upper_part_raises(rows, subtrees):
    tree = core.TreeClassifier(n_jobs=2)
    with pytest.raises(core.FitStopped):
        tree.fit(*rows, monitor=_StopsInGrowth())
    assert not subtrees
    assert not hasattr(tree, "trees_")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_fit_that_is_stopped_in_a_subtree_raises(rows, monkeypatch, n_jobs):
    monitor, original = NullMonitor(), TreeGrowth.grow_subtree

    def stopping(*arguments):
        monitor.stop_flag[0] = 1
        return original(*arguments)

    monkeypatch.setattr(TreeGrowth, "grow_subtree", stopping)
    tree = core.TreeClassifier(n_jobs=n_jobs)
    with pytest.raises(core.FitStopped):
        tree.fit(*rows, monitor=monitor)
    assert not hasattr(tree, "trees_")
