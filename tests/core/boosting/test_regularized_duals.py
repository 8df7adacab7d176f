"""Regularized duals: the default row weights on which minimax boosting grows its trees."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

import core
from core.boosting.linear_programs.minimax_program import MinimaxProgram
from core.boosting.linear_programs.regularized_duals import RegularizedDuals
from tests.core.boosting.test_minimax_program import rule_table

REGULARIZATION = 0.05


def converged_duals(kind, n_rounds=40):
    """Return the program of twelve rules, regularized duals after some more rounds, and the rule outputs."""
    rng = np.random.default_rng(3)
    signs = rng.choice([-1.0, 1.0], 400)
    score = 0.7 * signs[:, np.newaxis] + rng.normal(size=(400, 12))
    outputs = np.sign(score) if kind == "signs" else np.round(np.tanh(score), 2)
    table, row_shares = rule_table(outputs), rng.dirichlet(np.full(400, 20.0))
    program = MinimaxProgram(table, signs, row_shares, REGULARIZATION)
    regularized = RegularizedDuals(table, signs, row_shares, REGULARIZATION)
    for rule in range(outputs.shape[1]):
        program.add_rule(rule)
        program.solve()
        regularized.follow(program.solution.rules)
    for _ in range(n_rounds):
        regularized.follow(program.solution.rules)
    return program, regularized, outputs


def test_regularized_duals_are_feasible():
    _, regularized, outputs = converged_duals("grid")
    assert np.abs(outputs.T @ regularized.signed_weights()).max() <= REGULARIZATION * 1.05


@pytest.mark.parametrize("kind", ["signs", "grid"])
def test_regularized_duals_bound_the_risk_from_below(kind):
    program, regularized, _ = converged_duals(kind)
    solution = program.solution
    norm = np.abs(solution.rule_weights).sum()
    assert solution.minimax_risk - 0.03 < regularized.lower_bound(0.0, norm) <= solution.minimax_risk + 1e-9
    larger_price = REGULARIZATION + 0.01
    assert regularized.lower_bound(larger_price, norm) == pytest.approx(regularized.lower_bound(0.0, 0.0) - 0.01 * norm)


@pytest.mark.parametrize("seed", range(3))
def test_lower_bound_holds_in_every_round_of_a_fit(seed, monkeypatch):
    excesses = []

    def record_excess(self, rules):
        follow(self, rules)
        excesses.append(self.lower_bound(0.0, norms[-1]) - risks[-1])

    def record_solution(self):
        risks.append(solve(self).minimax_risk)
        norms.append(np.abs(self.solution.rule_weights).sum())
        return self.solution

    risks, norms, follow, solve = [], [], RegularizedDuals.follow, MinimaxProgram.solve
    monkeypatch.setattr(RegularizedDuals, "follow", record_excess)
    monkeypatch.setattr(MinimaxProgram, "solve", record_solution)
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (2000, 6))
    y = rng.random(2000) < np.clip(0.5 + 0.09 * X.sum(axis=1), 0, 1)
    core.RMBoostClassifier(n_rounds=20, max_leaf_nodes=2, drop_rules=False).fit(X, y)
    assert len(excesses) > 1
    assert max(excesses) < 1e-9


@pytest.mark.parametrize("kind", ["signs", "grid"])
def test_regularized_duals_are_spread_more_evenly_than_vertex_duals(kind):
    program, regularized, _ = converged_duals(kind)
    vertex_duals = np.abs(program.solution.margin_duals)
    regularized_duals = np.abs(program.signed_weights() + program.solution.margin_duals - regularized.signed_weights())
    assert np.count_nonzero(regularized_duals > 1e-9) > 2 * np.count_nonzero(vertex_duals > 1e-9)
    assert regularized_duals.max() < vertex_duals.max() / 2


def test_dropped_rule_has_no_influence():
    program, regularized, outputs = converged_duals("grid")
    rules = program.solution.rules
    for _ in range(40):
        regularized.follow(rules[1:])
    assert np.abs(outputs[:, 1:].T @ regularized.signed_weights()).max() <= REGULARIZATION * 1.05


def noisy_problem(n_rows=400):
    X, y = make_classification(n_rows, 10, n_informative=5, class_sep=0.7, flip_y=0.2, random_state=0)
    return X, y


@pytest.mark.parametrize("rule_output", ["sign", "confidence"])
def test_regularized_duals_reach_a_lower_risk_than_vertex_duals(rule_output):
    X, y = noisy_problem()
    parameters = {"n_rounds": 60, "rule_output": rule_output, "random_state": 0}
    regularized = core.RMBoostClassifier(dual_solution="even", **parameters).fit(X, y)
    vertex = core.RMBoostClassifier(dual_solution="vertex", **parameters).fit(X, y)
    assert regularized.minimax_risk_ < vertex.minimax_risk_
    assert (np.diff(regularized.risk_path_) <= 0).all()


def test_tolerance_stops_the_rounds():
    X, y = noisy_problem()
    parameters = {"n_rounds": 200, "random_state": 0}
    loose = core.RMBoostClassifier(tolerance=0.02, **parameters).fit(X, y)
    strict = core.RMBoostClassifier(tolerance=0.0, **parameters).fit(X, y)
    assert loose.stop_reason_ == "edge"
    assert loose.n_rounds_ < strict.n_rounds_
    assert loose.minimax_risk_ < strict.minimax_risk_ + 0.03


def test_invalid_dual_solution_and_tolerance_are_refused():
    X, y = noisy_problem(50)
    with pytest.raises(core.InvalidParameter, match="dual_solution"):
        core.RMBoostClassifier(dual_solution="best").fit(X, y)
    with pytest.raises(core.InvalidParameter, match="tolerance"):
        core.RMBoostClassifier(tolerance=-0.1).fit(X, y)
