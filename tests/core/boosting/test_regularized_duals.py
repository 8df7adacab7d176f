"""The row weights that trees of minimax boosting grow on by default."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

import core
from core.boosting.linear_programs.minimax_program import MinimaxProgram
from core.boosting.linear_programs.regularized_duals import RegularizedDuals
from tests.core.boosting.test_minimax_program import table_of

REGULARIZATION = 0.05


def followed(kind, n_rounds=40):
    """Twelve rules in the program and in the even duals, which follow it for some rounds, and the rules' outputs."""
    rng = np.random.default_rng(3)
    signs = rng.choice([-1.0, 1.0], 400)
    score = 0.7 * signs[:, np.newaxis] + rng.normal(size=(400, 12))
    outputs = np.sign(score) if kind == "signs" else np.round(np.tanh(score), 2)
    table, shares = table_of(outputs), rng.dirichlet(np.full(400, 20.0))
    program = MinimaxProgram(table, signs, shares, REGULARIZATION)
    even = RegularizedDuals(table, signs, shares, REGULARIZATION)
    for rule in range(outputs.shape[1]):
        program.add_rule(rule)
        program.solve()
        even.follow(program.solution.rules)
    for _ in range(n_rounds):
        even.follow(program.solution.rules)
    return program, even, outputs


def test_they_are_feasible():
    _, even, outputs = followed("grid")
    assert np.abs(outputs.T @ even.signed_weights()).max() <= REGULARIZATION * 1.05


@pytest.mark.parametrize("kind", ["signs", "grid"])
def test_they_bound_the_risk_from_below(kind):
    program, even, _ = followed(kind)
    found = program.solution
    norm = np.abs(found.rule_weights).sum()
    assert found.minimax_risk - 0.03 < even.lower_bound(0.0, norm) <= found.minimax_risk + 1e-9
    better = REGULARIZATION + 0.01
    assert even.lower_bound(better, norm) == pytest.approx(even.lower_bound(0.0, 0.0) - 0.01 * norm)


@pytest.mark.parametrize("seed", range(3))
def test_they_bound_the_risk_in_every_round_of_a_fit(seed, monkeypatch):
    above = []

    def ended_round(self, rules):
        follow(self, rules)
        above.append(self.lower_bound(0.0, norms[-1]) - risks[-1])

    def solved(self):
        risks.append(solve(self).minimax_risk)
        norms.append(np.abs(self.solution.rule_weights).sum())
        return self.solution

    risks, norms, follow, solve = [], [], RegularizedDuals.follow, MinimaxProgram.solve
    monkeypatch.setattr(RegularizedDuals, "follow", ended_round)
    monkeypatch.setattr(MinimaxProgram, "solve", solved)
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (2000, 6))
    y = rng.random(2000) < np.clip(0.5 + 0.09 * X.sum(axis=1), 0, 1)
    core.RMBoostClassifier(n_rounds=20, max_leaf_nodes=2, drop_rules=False).fit(X, y)
    assert len(above) > 1
    assert max(above) < 1e-9


@pytest.mark.parametrize("kind", ["signs", "grid"])
def test_they_are_evener_than_those_of_the_solver(kind):
    program, even, _ = followed(kind)
    carried = np.abs(program.solution.margin_duals)
    even_carried = np.abs(program.signed_weights() + program.solution.margin_duals - even.signed_weights())
    assert np.count_nonzero(even_carried > 1e-9) > 2 * np.count_nonzero(carried > 1e-9)
    assert even_carried.max() < carried.max() / 2


def test_a_dropped_rule_leaves_no_trace():
    program, even, outputs = followed("grid")
    rules = program.solution.rules
    for _ in range(40):
        even.follow(rules[1:])
    assert np.abs(outputs[:, 1:].T @ even.signed_weights()).max() <= REGULARIZATION * 1.05


def noisy_problem(n_rows=400):
    X, y = make_classification(n_rows, 10, n_informative=5, class_sep=0.7, flip_y=0.2, random_state=0)
    return X, y


@pytest.mark.parametrize("rule_output", ["sign", "confidence"])
def test_they_lead_to_less_risk_than_those_of_the_solver(rule_output):
    X, y = noisy_problem()
    settings = {"n_rounds": 60, "rule_output": rule_output, "random_state": 0}
    even = core.RMBoostClassifier(dual_solution="even", **settings).fit(X, y)
    vertex = core.RMBoostClassifier(dual_solution="vertex", **settings).fit(X, y)
    assert even.minimax_risk_ < vertex.minimax_risk_
    assert (np.diff(even.risk_path_) <= 0).all()


def test_tolerance_ends_the_rounds():
    X, y = noisy_problem()
    settings = {"n_rounds": 200, "random_state": 0}
    near = core.RMBoostClassifier(tolerance=0.02, **settings).fit(X, y)
    nearer = core.RMBoostClassifier(tolerance=0.0, **settings).fit(X, y)
    assert near.stop_reason_ == "edge"
    assert near.n_rounds_ < nearer.n_rounds_
    assert near.minimax_risk_ < nearer.minimax_risk_ + 0.03


def test_an_unknown_dual_solution_is_refused():
    X, y = noisy_problem(50)
    with pytest.raises(core.InvalidParameter, match="dual_solution"):
        core.RMBoostClassifier(dual_solution="best").fit(X, y)
    with pytest.raises(core.InvalidParameter, match="tolerance"):
        core.RMBoostClassifier(tolerance=-0.1).fit(X, y)
