"""Growth of one tree by several threads."""

import numpy as np
import pytest

import core
from core.growth import growing
from core.monitoring import NullMonitor
from tests.core.growth.grown_trees import node_bytes

N_ROWS = 10_000  # several times the rows of the largest subtree that one thread grows


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 5))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(scale=0.5, size=N_ROWS), [-1, 0.5])
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 4] = rng.integers(0, 9, size=N_ROWS)
    return X, y, rng.uniform(0.1, 3, size=N_ROWS)


@pytest.fixture
def divided(monkeypatch):
    """Return the list of the numbers of threads of the trees that several threads grow."""
    calls, original = [], growing.grow_in_parts

    def recording(growth, n_threads):
        calls.append(n_threads)
        return original(growth, n_threads)

    monkeypatch.setattr(growing, "grow_in_parts", recording)
    return calls


DIVIDED = [
    {},
    {"loss": "entropy", "min_samples_leaf": 3},
    {"loss": "misclassification"},
    {"loss": "gce", "max_depth": 7},
    {"min_risk_decrease": 1e-4},
    {"max_bins": None},
    {"categorical_features": [4]},
    {"splitter": "best", "max_features": 1.0},
]


@pytest.mark.parametrize("parameters", DIVIDED, ids=repr)
def test_several_threads_grow_the_same_bytes(rows, divided, parameters):
    expected, *others = (core.TreeClassifier(n_jobs=n, random_state=1, **parameters).fit(*rows) for n in (1, 2, 3))
    assert divided == [2, 3]
    assert [node_bytes(other) for other in others] == [node_bytes(expected)] * 2


def test_each_tree_of_a_tuned_loss_is_grown_by_several_threads(rows, divided):
    one, two = (core.TreeClassifier(loss="adaptive_ne", n_jobs=n, random_state=1).fit(*rows) for n in (1, 2))
    assert len(divided) > 1
    assert node_bytes(one) == node_bytes(two)
    assert one.tuning_scores_ == two.tuning_scores_


@pytest.mark.parametrize("parameters", [{"max_features": 2}, {"splitter": "random"}, {"max_leaf_nodes": 50}], ids=repr)
def test_trees_that_depend_on_the_order_of_growth_are_not_divided(rows, divided, parameters):
    one, two = (core.TreeClassifier(n_jobs=n, random_state=1, **parameters).fit(*rows) for n in (1, 2))
    assert not divided
    assert node_bytes(one) == node_bytes(two)


def test_few_rows_are_not_divided(rows, divided):
    core.TreeClassifier(n_jobs=2).fit(*(column[:2000] for column in rows))
    assert not divided


class _StopsInGrowth(NullMonitor):
    def begin(self, phase, total, unit):
        self.stop_flag[0] = phase == "growing"


def test_a_stopped_fit_of_several_threads_raises(rows, divided):
    tree = core.TreeClassifier(n_jobs=2)
    with pytest.raises(core.FitStopped):
        tree.fit(*rows, monitor=_StopsInGrowth())
    assert divided == [2]
    assert not hasattr(tree, "trees_")
