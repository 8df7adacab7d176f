"""Progress, stops and limits of a fit of the automatic classifier."""

import numpy as np
import pytest

import core
from core.automatic.candidates import CANDIDATES, FAMILIES, TREES_PER_FAMILY
from core.automatic.members import N_TREES, N_TREES_BESIDE_REGRESSION


def blobs(n_rows=60):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    return rng.normal(size=(n_rows, 4)) + 2.0 * y[:, np.newaxis], y


class RecordingMonitor:
    """Monitor that keeps the total and the last count of each phase."""

    def __init__(self):
        self.stop_flag = np.zeros(1, dtype=np.uint8)
        self.received = {}

    def begin(self, phase, total, unit):
        self.received[phase] = [total, 0]
        self.phase = phase

    def advance(self, completed):
        self.received[self.phase][1] = completed


def test_progress_is_what_the_phases_announce():
    monitor = RecordingMonitor()
    model = core.AutoClassifier(random_state=0, n_fits=2)
    X, y = blobs()
    model.fit(X, y, monitor=monitor, groups=np.arange(60))  # with groups, there is no regression
    assert {phase: total for phase, (total, _) in monitor.received.items()} == model.phases()
    assert all(total == completed for total, completed in monitor.received.values())
    model.fit(X, y, monitor=monitor)
    assert model.kernel_ridge_ is not None
    assert monitor.received["growing"] == [N_TREES_BESIDE_REGRESSION] * 2


def test_trees_of_a_kind_that_leads_more_than_once_have_progress():
    monitor = RecordingMonitor()
    model = core.AutoClassifier(random_state=0).fit(*blobs(), monitor=monitor)
    families = [one.candidate.family for one in model.choice_.chosen]
    n_repeated = len(families) - len(set(families))
    assert n_repeated > 0
    assert monitor.received["estimating"] == [n_repeated * TREES_PER_FAMILY] * 2
    assert list(monitor.received) == list(model.phases())


@pytest.mark.parametrize(
    ("phase", "n_fits"),
    [("searching", 1), ("searching", 4), ("estimating", 28), ("growing", 1), ("growing", 4)],
)  # with four candidates, the search has grown all trees of the members
def test_a_stopped_fit_leaves_nothing(phase, n_fits):
    class Monitor:
        stop_flag = np.zeros(1, dtype=np.uint8)

        def begin(self, name, total, unit):
            self.stop_flag[0] = name == phase

        def advance(self, completed):
            pass

    model = core.AutoClassifier(random_state=0, n_fits=n_fits)
    with pytest.raises(core.FitStopped):
        model.fit(*blobs(), monitor=Monitor())
    assert not hasattr(model, "trees_")


def test_time_budget_ends_the_search_after_the_family_that_exceeds_it():
    model = core.AutoClassifier(random_state=0, time_budget=1e-9).fit(*blobs())
    assert {one.candidate for one in model.leaderboard_} == {one for one in CANDIDATES if one.family == FAMILIES[0]}
    assert {(one.candidate.kind, one.candidate.max_features) for one in model.choice_.chosen} == {FAMILIES[0][:2]}
    assert len(model.trees_) == N_TREES


def test_parameters_are_checked():
    with pytest.raises(core.InvalidParameter, match="n_fits"):
        core.AutoClassifier(n_fits=len(CANDIDATES) + 1).fit(*blobs())
    with pytest.raises(core.InvalidParameter, match="time_budget"):
        core.AutoClassifier(time_budget=0).phases()
    assert core.AutoClassifier(n_fits=3).phases() == {"searching": 3 * TREES_PER_FAMILY, "growing": N_TREES}
    assert core.AutoClassifier().phases() == {
        "searching": len(FAMILIES) * TREES_PER_FAMILY,
        "estimating": 3 * TREES_PER_FAMILY,
        "growing": N_TREES,
    }
    assert core.AutoClassifier(n_fits=5).phases()["estimating"] == TREES_PER_FAMILY
