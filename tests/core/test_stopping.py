"""Predictions, scores and saving stop at a flag, and are not changed by it."""

from itertools import count

import numpy as np
import pytest

import core
from core import service_api
from core.growth import voting

N_ROWS = 1000
MODELS = [
    core.ForestClassifier(n_estimators=5, random_state=0),
    core.ForestClassifier(n_estimators=5, random_state=0, n_jobs=3),
    core.AdaBoostClassifier(n_rounds=5, random_state=0),
    core.RMBoostClassifier(n_rounds=5, random_state=0),
]


class CountingFlag:
    """Stop flag that is set from its read number `limit` on, in whichever thread."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.stop_flag = self
        self._numbers, self._reads = count(1), []

    def __getitem__(self, index: int) -> bool:
        number = next(self._numbers)
        self._reads.append(number)
        return number >= self.limit

    @property
    def n_reads(self) -> int:
        return len(self._reads)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(voting, "_STEPS_PER_BLOCK", 1)


def fitted(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 3))
    y = (X[:, 0] + rng.normal(size=N_ROWS) > 0).astype(int)
    return model.fit(X, y), X, y


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{type(model).__name__}-{model.n_jobs}")
def test_predictions_stop_between_blocks_of_rows(model, monkeypatch):
    model, X, _ = fitted(model)
    n_blocks = -(-N_ROWS // voting._MIN_ROWS_PER_BLOCK)
    unstopped = CountingFlag(np.inf)
    with service_api.stopping_with(unstopped):
        in_blocks = model.predict_proba(X)
        n_reads = unstopped.n_reads
        model.predict_proba(X)
    assert unstopped.n_reads == n_reads + n_blocks
    monkeypatch.undo()
    assert model.predict_proba(X).tobytes() == in_blocks.tobytes()
    monkeypatch.setattr(voting, "_STEPS_PER_BLOCK", 1)
    computed = []
    traverse = voting.mean_leaf_values
    monkeypatch.setattr(voting, "mean_leaf_values", lambda *args: (computed.append(1), traverse(*args)))
    with service_api.stopping_with(CountingFlag(3)), pytest.raises(core.FitStopped):
        model.predict_proba(X)
    assert len(computed) == 2
    model.predict_proba(X)
    assert len(computed) == 2 + n_blocks


def test_layout_of_many_trees_stops_between_trees():
    model, X, _ = fitted(MODELS[0])
    flag = CountingFlag(3)
    with service_api.stopping_with(flag), pytest.raises(core.FitStopped):
        model.predict_proba(X)
    assert flag.n_reads == 3
    assert np.array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


def test_scores_stop_at_each_of_their_steps():
    model, X, y = fitted(MODELS[0])
    report = core.evaluate(model, X, y)
    flag = CountingFlag(np.inf)
    with service_api.stopping_with(flag):
        assert core.evaluate(model, X, y) == report
    n_blocks = -(-N_ROWS // voting._MIN_ROWS_PER_BLOCK)
    assert flag.n_reads >= n_blocks + len(service_api.SCORES) - 1
    for limit in (n_blocks + 1, flag.n_reads):
        stopped = CountingFlag(limit)
        with service_api.stopping_with(stopped), pytest.raises(core.FitStopped):
            core.evaluate(model, X, y)
        assert stopped.n_reads == limit


def test_a_stopped_save_leaves_no_file(tmp_path):
    model, *_ = fitted(MODELS[0])
    with service_api.stopping_with(CountingFlag(3)), pytest.raises(core.FitStopped):
        core.save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_flag_counts_only_within_its_block():
    model, X, _ = fitted(MODELS[0])
    outer, inner = CountingFlag(np.inf), CountingFlag(1)
    with service_api.stopping_with(outer):
        with service_api.stopping_with(inner), pytest.raises(core.FitStopped):
            model.predict_proba(X)
        model.predict_proba(X)
    model.predict_proba(X)
    assert inner.n_reads == 1
