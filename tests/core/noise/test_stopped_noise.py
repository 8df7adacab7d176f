"""Progress and stopping of noise injection, noise estimation and audits."""

import numpy as np
import pytest

import core
from core.noise.adversarial import N_ROUNDS
from core.noise.estimation import fit_noise
from core.noise.label_probabilities import check_label_probabilities
from tests.core.forests.test_fitting import Recorder
from tests.core.noise.noisy_votes import draw_noisy_votes
from tests.core.noise.test_noise import clusters

UNIFORM = {"kind": "uniform", "rate": 0.2}
CLASS_CONDITIONAL = {"kind": "class_conditional"}
ADVERSARIAL = {"kind": "adversarial", "rate": 0.1}


class StopsInPhase:
    """Monitor that requests a stop as soon as a phase begins."""

    def __init__(self, phase):
        self.stop_flag = np.zeros(1, dtype=np.uint8)
        self.phase = phase
        self.advanced = 0

    def begin(self, phase, total, unit):
        self.stop_flag[0] = phase == self.phase

    def advance(self, completed):
        self.advanced += bool(self.stop_flag[0])


class SetAfterReads(np.ndarray):
    """Stop flag that becomes set after a number of reads, as if another thread had set it."""

    def __new__(cls, n_reads):
        flag = np.zeros(1, dtype=np.uint8).view(cls)
        flag.reads_left = n_reads
        return flag

    def __getitem__(self, index):
        self.reads_left -= 1
        return self.reads_left < 0


@pytest.mark.parametrize(
    ("spec", "calls"),
    [
        (UNIFORM, [("injecting", 300, "labels"), 300]),
        (CLASS_CONDITIONAL, [("injecting", 10, "pairs of classes"), *range(1, 11)]),
        (ADVERSARIAL, [("injecting", 5 * N_ROUNDS, "trees"), *range(1, 5 * N_ROUNDS + 1)]),
    ],
    ids=str,
)
def test_monitor_is_told_of_one_phase_and_leaves_labels_unchanged(spec, calls):
    X, y = clusters(300, 5)
    monitor = Recorder()
    monitored = core.inject_noise(y, spec, X=X, random_state=0, monitor=monitor)
    assert monitor.calls == calls
    np.testing.assert_array_equal(monitored.labels, core.inject_noise(y, spec, X=X, random_state=0).labels)


@pytest.mark.parametrize("spec", [CLASS_CONDITIONAL, ADVERSARIAL], ids=str)
def test_injection_can_be_stopped_before_its_first_step(spec):
    X, y = clusters(300, 5)
    monitor = StopsInPhase("injecting")
    with pytest.raises(core.FitStopped, match="stopped by its monitor; nothing was kept"):
        core.inject_noise(y, spec, X=X, random_state=0, monitor=monitor)
    assert monitor.advanced == 0


@pytest.mark.parametrize("spec", [CLASS_CONDITIONAL, ADVERSARIAL], ids=str)
def test_injection_stops_after_the_current_step(spec):
    X, y = clusters(300, 5)
    monitor = Recorder(stop_after=4)
    with pytest.raises(core.FitStopped):
        core.inject_noise(y, spec, X=X, random_state=0, monitor=monitor)
    assert monitor.calls[1:] == [1, 2, 3, 4]


@pytest.mark.parametrize("n_reads", [0, 1, 7])
def test_estimation_reads_the_stop_flag_once_per_iteration(n_reads):
    votes = draw_noisy_votes([[0.9, 0.1, 0.0], [0.15, 0.6, 0.25], [0.05, 0.15, 0.8]], 500, 0)
    flag = SetAfterReads(n_reads)
    with pytest.raises(core.FitStopped, match="stopped by its monitor; nothing was kept"):
        fit_noise(check_label_probabilities(votes.probabilities, votes.labels, None), flag)
    assert flag.reads_left == -1


@pytest.mark.parametrize("folds", [None, 2])
def test_audit_can_be_stopped_while_it_estimates_noise(folds):
    X, y = clusters(200, 3)
    monitor = StopsInPhase("estimating noise")
    with pytest.raises(core.FitStopped):
        core.audit_labels(X, y, core.ForestClassifier(n_estimators=20), folds, random_state=0, monitor=monitor)
